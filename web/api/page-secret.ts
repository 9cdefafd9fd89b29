import { PAGE_SECRET } from '../../src/domain/access.ts';

type Message = 'ask' | { readonly offer: string } | { readonly login: string };

let secret = sessionStorage.getItem(PAGE_SECRET);
const tabs = new BroadcastChannel(PAGE_SECRET);
const keep = (known: string) => {
  secret = known;
  sessionStorage.setItem(PAGE_SECRET, known);
};
// Storage of a session is that of one tab: a new tab asks the others, and a login tells them.
tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data === 'ask') {
    if (secret !== null) tabs.postMessage({ offer: secret } satisfies Message);
  } else if ('login' in data) keep(data.login);
  else if (secret === null) keep(data.offer);
});
if (secret === null) tabs.postMessage('ask' satisfies Message);

/** What the page shows beside its cookie when it changes something; nothing where no tab knows it. */
export const pageSecret = (): Readonly<Record<string, string>> =>
  secret === null ? {} : { [PAGE_SECRET]: secret };
