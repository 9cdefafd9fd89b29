// Whether the daemon of this container lives: exit status 0 if /livez answers 200. There is no shell to ask by.
import { get as getPlain } from 'node:http';
import { get as getTls } from 'node:https';

const url = process.env.SHEPHERD_LIVEZ ?? 'https://127.0.0.1:4243/livez';
const get = url.startsWith('https:') ? getTls : getPlain;
// The certificate is for the name that others use, and this is the same host.
const request = get(url, { rejectUnauthorized: false, timeout: 4000 }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => request.destroy(new Error('no answer')));
request.on('error', () => process.exit(1));
