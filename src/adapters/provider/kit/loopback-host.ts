/** Whether a URL's host is this computer: what is said to it goes over no wire. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
