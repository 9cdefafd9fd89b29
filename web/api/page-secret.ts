import { PAGE_SECRET } from '../../src/domain/access.ts';

type Message = 'ask' | { readonly offer: string } | { readonly login: string };

let secret = sessionStorage.getItem(PAGE_SECRET);
const tabs = new BroadcastChannel(PAGE_SECRET);
const keep = (known: string) => {
  secret = known;
  sessionStorage.setItem(PAGE_SECRET, known);
};
// Session storage belongs to one tab. A new tab asks the other tabs, and a login informs them.
tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data === 'ask') {
    if (secret !== null) tabs.postMessage({ offer: secret } satisfies Message);
  } else if ('login' in data) keep(data.login);
  else if (secret === null) keep(data.offer);
});
if (secret === null) tabs.postMessage('ask' satisfies Message);

/** The headers that prove a change comes from this page, in addition to the cookie. Empty if no tab knows the secret. */
export const pageSecret = (): Readonly<Record<string, string>> =>
  secret === null ? {} : { [PAGE_SECRET]: secret };
