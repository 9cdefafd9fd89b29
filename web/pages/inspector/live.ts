import { useEffect, useState } from 'react';
import { addressOf, refusalOf } from '../../api/ask.ts';
import { parseShown } from '../../api/shown.ts';
import { NOTHING, told, type Message, type Story } from './story.ts';

/** What the daemon told so far. */
export interface Live {
  readonly story: Story;
  /** Events of bursts that were left out. */
  readonly dropped: number;
  readonly isConnected: boolean;
  /** Why this person may not look; null: nobody said no. */
  readonly refusal: string | null;
}
const UNTOLD: Live = { story: NOTHING, dropped: 0, isConnected: true, refusal: null };

interface Dropped {
  readonly type: 'shepherd.dropped';
  readonly count: number;
}

/** News are drawn no more often. */
const GATHERED_MS = 100;

/** What the daemon tells of a machine, or of the supervisor when none is named. After a lost connection it begins anew. */
export function useLive(slot: string, isWanted: boolean): Live {
  const [live, setLive] = useState(UNTOLD);
  useEffect(() => {
    if (!isWanted) return undefined;
    const change = (now: Partial<Live>) => setLive((before) => ({ ...before, ...now }));
    setLive(UNTOLD);
    const source = new EventSource(addressOf(['inspector', 'stream'], { slot }));
    let news: (Message | Dropped)[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const take = () => {
      const taken = news;
      [timer, news] = [undefined, []];
      setLive((before) => afterNews(before, taken));
    };
    source.addEventListener('open', () => {
      news = [];
      change({ story: NOTHING, isConnected: true });
    });
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      news.push(parseShown(data) as Message | Dropped);
      timer ??= setTimeout(take, GATHERED_MS);
    });
    source.addEventListener('error', () => {
      change({ isConnected: false });
      if (source.readyState !== EventSource.CLOSED) return;
      void refusalOf(source.url).then((problem) => change({ refusal: problem?.detail ?? null }));
    });
    return () => {
      clearTimeout(timer);
      source.close();
    };
  }, [slot, isWanted]);
  return live;
}

function afterNews(live: Live, news: readonly (Message | Dropped)[]): Live {
  const messages = news.filter((each) => each.type !== 'shepherd.dropped');
  const lost = news.filter((each) => each.type === 'shepherd.dropped');
  const dropped = lost.reduce((sum, { count }) => sum + count, live.dropped);
  return { ...live, dropped, story: told(live.story, messages) };
}
