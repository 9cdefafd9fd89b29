/** What is wrong with the base URL of the API, or false: the token must not travel in the clear. */
export function baseUrlFault(baseUrl: string, allowInsecureHttp: boolean): string | false {
  const url = URL.parse(baseUrl);
  if (!url || !/^https?:$/.test(url.protocol)) return 'is no http or https URL';
  if (url.search || url.hash || url.username || url.password) {
    return 'must not have credentials, query or fragment';
  }
  if (url.protocol === 'https:' || allowInsecureHttp) return false;
  return !isLoopbackHost(url.hostname) && 'plain http is allowed to loopback only';
}

/** Whether a URL's host is this computer: what is said to it goes over no wire. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
