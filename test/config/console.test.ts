import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { env, minimal } from './examples.ts';
import { testRows } from '../support/rows.ts';
import { complaintAboutRoles } from '../../src/config/sections.ts';
import { DAEMON_ROLES } from '../../src/domain/daemons.ts';

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

const shared = { url: 'postgres://bmdb@db.example.net/bmdb' };
const parse = (more: object) => parseConfig({ ...minimal(), database: shared, ...more }, { env });

test('a daemon does everything unless it is told less; the order does not matter', () => {
  expect(parse({}).roles).toEqual(DAEMON_ROLES);
  expect(parse({ roles: ['console', 'agent-server', 'console'] }).roles).toEqual([
    'agent-server',
    'console',
  ]);
});

test('what is no list of roles is refused', () => {
  expect(() => parse({ roles: [] })).toThrow('roles is empty; give some of loops');
  expect(() => parse({ roles: 'console' })).toThrow('roles is no list; give some of loops');
  expect(() => parse({ roles: ['agents'] })).toThrow('is "agents"; give one of loops');
});

const ALL = [...DAEMON_ROLES];
const embedded = { embedded: { dataDir: 'data' } };
const endpoint = { endpoint: 'shepherd.example.net:8080' };

// What the other part is left to, who would do it, and whether this one could do anything at all.
testRows([
  [{ roles: ALL, database: embedded }, null],
  [{ roles: ['console'], database: embedded }, 'no other one reaches database.embedded'],
  [{ roles: ['loops'], database: shared }, 'give agent.endpoint'],
  [{ roles: ['loops'], database: shared, agent: endpoint }, null],
  [{ roles: ['agent-server'], database: shared }, null],
  [{ roles: ['balancer'], database: shared }, 'no balancers are configured'],
  [{ roles: ['balancer'], database: shared, balancers: { edge: {} } }, null],
  [{ roles: ['balancer', 'janitor'], database: shared }, null],
])('complains about %o: %s', (written, expected) => {
  const complaint = complaintAboutRoles(written);
  if (expected === null) expect(complaint).toBeNull();
  else expect(complaint).toContain(expected);
});

test('only who starts machines has to know where agents report to', () => {
  const agent = { executablePath: 'agent.mjs' };
  const anywhere = { listen: ':8080', devCertificates: { dir: 'certificates' } };
  const more = { agent, agentServer: anywhere };
  expect(() => parse(more)).toThrow('agent.endpoint is missing');
  expect(parse({ ...more, roles: ['agent-server', 'console'] }).roles).toHaveLength(2);
});
