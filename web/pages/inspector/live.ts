import { addressOf } from '../../api/ask.ts';
import { parseShown } from '../../api/shown.ts';
import { createStore, type Store } from '../../live/store.ts';
import { NOTHING, told, type Message, type Story } from './story.ts';

export interface LiveStory {
  readonly story: Store<Story>;
  readonly dropped: Store<number>;
  readonly isConnected: Store<boolean>;
  close(): void;
}

/** News are drawn no more often. */
const GATHERED_MS = 100;

/** What the daemon tells of a machine, or of the supervisor when none is named. After a lost connection it begins anew. */
export function openLive(slot: string): LiveStory {
  const story = createStore(NOTHING);
  const dropped = createStore(0);
  const isConnected = createStore(false);
  const source = new EventSource(addressOf(['inspector', 'stream'], { slot }));
  let news: Message[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const take = () => {
    timer = undefined;
    story.set(told(story.get(), news));
    news = [];
  };
  source.addEventListener('open', () => {
    news = [];
    story.set(NOTHING);
    isConnected.set(true);
  });
  source.addEventListener('message', ({ data }: MessageEvent<string>) => {
    news.push(parseShown(data) as Message);
    timer ??= setTimeout(take, GATHERED_MS);
  });
  source.addEventListener('dropped', (event) => {
    const { count } = JSON.parse((event as MessageEvent<string>).data) as { count: number };
    dropped.set(dropped.get() + count);
  });
  source.addEventListener('error', () => isConnected.set(false));
  return {
    ...{ story, dropped, isConnected },
    close() {
      clearTimeout(timer);
      source.close();
    },
  };
}
