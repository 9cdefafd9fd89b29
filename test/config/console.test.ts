import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { env, minimal } from './examples.ts';
import { testRows } from '../support/rows.ts';

const CONSOLE_TOKEN = 'sixteen-letters-';
const OIDC = { clientId: 'shepherd', groups: { staff: { role: 'viewer' } } };
const withConsole = (console: object) => () =>
  parseConfig({ ...minimal(), console }, { env: { ...env, CONSOLE_TOKEN } }).console;

testRows([
  ['behind a proxy', { proxy: 'trusted', token: '${CONSOLE_TOKEN}' }],
  ['that people come back to', { oidc: { ...OIDC, issuer: 'https://login.example.org' } }],
])('a console %s has to know its address', (_, section) => {
  expect(withConsole(section)).toThrow('console.url is missing, and proxy and oidc want it');
  expect(withConsole({ ...section, url: 'https://shepherd.example.org' })).not.toThrow();
});

testRows([
  ['https://login.example.org', true],
  ['http://127.0.0.1:8080', true],
  ['http://[::1]:8080', true],
  ['http://login.example.org', false],
  ['http://localhost.example.org', false],
])('a provider of identities is asked by TLS, or on this host: %s', (issuer, isGood) => {
  const parse = withConsole({ url: 'https://a.example', oidc: { ...OIDC, issuer } });
  if (!isGood) return expect(parse).toThrow('console.oidc.issuer would be asked in clear');
  return expect(parse().oidc).toMatchObject({
    ...{ issuer, nameClaim: 'email', groupsClaim: 'groups', consent: false },
    scopes: ['openid', 'email', 'offline_access'],
  });
});

test('a login of an organisation is a way in from beyond this host', () => {
  const open = { listen: ':4243', url: 'https://a.example', proxy: 'trusted' };
  expect(withConsole(open)).toThrow('console.oidc or console.tls.clients');
  const oidc = { ...OIDC, issuer: 'https://login.example.org' };
  expect(withConsole({ ...open, oidc })).not.toThrow();
});
