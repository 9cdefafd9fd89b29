import { useEffect, useState } from 'react';
import { addressOf, refusalOf } from '../../api/ask.ts';
import { parseShown } from '../../api/shown.ts';
import { NOTHING, told, type Message, type Story } from './story.ts';

/** The messages of the daemon so far. */
export interface Live {
  readonly story: Story;
  /** Number of events that were left out in bursts. */
  readonly dropped: number;
  readonly isConnected: boolean;
  /** Why the console refuses this person. Null: it does not. */
  readonly refusal: string | null;
}
const UNTOLD: Live = { story: NOTHING, dropped: 0, isConnected: true, refusal: null };

interface Dropped {
  readonly type: 'shepherd.dropped';
  readonly count: number;
}

/** Minimum time between two redraws. */
const GATHERED_MS = 100;

/** Messages about a machine, or about the supervisor if no machine is named. After a lost connection the story begins anew. */
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
