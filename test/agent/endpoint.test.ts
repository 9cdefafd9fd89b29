import { describe, expect } from 'vitest';
import { parseEndpoint } from '../../src/agent/callback-client.ts';
import { testRows } from '../support/rows.ts';

describe('endpoint', () => {
  testRows([
    ['shepherd.lan:8080', { host: 'shepherd.lan', port: 8080 }],
    ['127.0.0.1:1', { host: '127.0.0.1', port: 1 }],
    ['[::1]:443', { host: '::1', port: 443 }],
  ])('reads %s', (text, expected) => expect(parseEndpoint(text)).toEqual(expected));

  testRows(['', 'host', 'host:', ':80', 'host:0', 'host:65536', '::1:80', '[x]:80', 'a b:1'])(
    'refuses %j',
    (text) => expect(() => parseEndpoint(text)).toThrow(/endpoint is not host:port/),
  );
});
