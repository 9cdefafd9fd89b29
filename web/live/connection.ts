import { useEffect } from 'react';
import { addressOf, refusalOf, type Query } from '../api/ask.ts';
import { parseShown } from '../api/shown.ts';
import { setClock } from './clock.ts';
import { frame, link, machine, version, type ShownFrame, type ShownMachine } from './model.ts';
import { afterNews, liveWindow, type RowsNews, type WindowQuery } from './window.ts';

/** What a page shows. The address of the stream contains all of it. */
export type View =
  | { readonly view: 'fleet' }
  | ({ readonly view: 'list' } & WindowQuery)
  | { readonly view: 'machine'; readonly slot: string };

/** The stream sends a message every 10 s. After two missing messages the page treats it as dead. */
const SILENCE_MAX_MS = 25_000;
/** Delay before a new attempt, because a browser does not retry a refused stream. */
const REFUSED_AFTER_MS = 1_500;
/** A hidden tab closes its connection after this time, or at once if another tab needs one. */
const HIDDEN_MAX_MS = 30_000;
/** All tabs of a browser share about six connections to a console without HTTP/2. */
const TABS = 'shepherd-streams';
/** Opens the stream only after the reader stops scrolling. */
const SETTLED_MS = 300;

let wanted: View = { view: 'fleet' };
let source: EventSource | null = null;
let openedAt = 0;
let hiddenAt: number | null = null;
let settling: ReturnType<typeof setTimeout> | undefined;
let tabs: BroadcastChannel | null = null;

const streamOf = (view: View): string => addressOf(['stream'], view as unknown as Query);

/** Subscribes to this view while the component is mounted. One stream serves the whole page. */
export function useView(view: View): void {
  const address = streamOf(view);
  useEffect(() => {
    if (streamOf(wanted) === address) return undefined;
    const isScroll = wanted.view === 'list' && view.view === 'list';
    wanted = view;
    clearTimeout(settling);
    if (!isScroll) liveWindow.set(null);
    if (view.view === 'machine') machine.set(null);
    settling = setTimeout(open, isScroll ? SETTLED_MS : 0);
    return undefined;
  }, [address]);
}

/** Keeps the page connected to the daemon while the page is visible. */
export function startConnection(): void {
  settling = setTimeout(open, 0);
  setInterval(watch, 1000);
  tabs = new BroadcastChannel(TABS);
  tabs.addEventListener('message', () => {
    if (document.hidden) giveUp();
  });
  document.addEventListener('visibilitychange', () => {
    hiddenAt = document.hidden ? performance.now() : null;
    if (!document.hidden && source === null) open();
  });
}

function open(): void {
  source?.close();
  if (document.hidden && hiddenAt === null) hiddenAt = performance.now();
  const view = wanted;
  tabs?.postMessage('opened');
  source = new EventSource(streamOf(view));
  openedAt = performance.now();
  on<{ atMs: number; version: string; resume: string }>('hello', (hello) => {
    setClock(hello.atMs);
    version.set(hello.version);
  });
  on<ShownFrame>('frame', (told) => {
    setClock(told.atMs);
    frame.set(told);
  });
  on<ShownMachine>('machine', machine.set);
  on<{ atMs: number }>('tick', ({ atMs }) => setClock(atMs));
  if (view.view === 'list') followWindow(view);
  source.addEventListener('bye', said(lost));
  source.addEventListener('error', said(lost));
  source.addEventListener('error', said(tellRefusal));
}

function followWindow({ view: _, ...query }: Extract<View, { view: 'list' }>): void {
  let begun = false;
  on<RowsNews>('rows', (news) => {
    const known = begun ? liveWindow.get() : null;
    begun = true;
    liveWindow.set(afterNews(known, query, news));
  });
  on<{ total: number }>('list', ({ total }) => {
    const known = liveWindow.get();
    liveWindow.set(
      known && begun
        ? { ...known, total }
        : afterNews(null, query, { total, upserts: [], removed: [], order: [] }),
    );
    begun = true;
  });
}

/** Ignores messages of an earlier stream. */
function said(take: (event: MessageEvent<string>) => void) {
  const own = source;
  return (event: Event) => {
    if (own === source) take(event as MessageEvent<string>);
  };
}

function on<Message>(event: string, take: (message: Message) => void): void {
  const listener = said(({ data }) => {
    take(parseShown(data) as Message);
    link.set({ phase: 'live', heardAt: performance.now() });
  });
  source!.addEventListener(event, listener);
}

function lost(): void {
  const { phase, heardAt } = link.get();
  if (phase === 'live') link.set({ phase: 'lost', heardAt });
}

/** An `EventSource` hides the reason of a refusal, so the page sends the same request once more to read it. */
function tellRefusal(): void {
  const refused = source;
  if (refused?.readyState !== EventSource.CLOSED) return;
  void refusalOf(refused.url).then((refusal) => {
    if (refused !== source) return;
    const { heardAt } = link.get();
    link.set({ phase: 'lost', heardAt, ...(refusal && { refusal }) });
  });
}

function giveUp(): void {
  source?.close();
  source = null;
  lost();
}

/** The browser retries a broken stream, but not a refused stream and not a silent one. */
function watch(): void {
  const now = performance.now();
  if (hiddenAt !== null && now - hiddenAt > HIDDEN_MAX_MS) {
    giveUp();
    return;
  }
  const silentMs = now - Math.max(link.get().heardAt, openedAt);
  const refused = source?.readyState === EventSource.CLOSED && now - openedAt > REFUSED_AFTER_MS;
  if (refused || silentMs > SILENCE_MAX_MS) {
    lost();
    open();
  }
}
