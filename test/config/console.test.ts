import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { env, minimal } from './examples.ts';
import { testRows } from '../support/rows.ts';
import { complaintAboutRoles } from '../../src/config/sections.ts';
import { DAEMON_ROLES } from '../../src/domain/daemons.ts';

const shared = { url: 'postgres://bmdb@db.example.net/bmdb' };
const parse = (more: object) => parseConfig({ ...minimal(), database: shared, ...more }, { env });

test('gives a daemon all roles by default, in any order', () => {
  expect(parse({}).roles).toEqual(DAEMON_ROLES);
  expect(parse({ roles: ['console', 'agent-server', 'console'] }).roles).toEqual([
    'agent-server',
    'console',
  ]);
});

const ALL = [...DAEMON_ROLES];
const embedded = { embedded: { dataDir: 'data' } };
const endpoint = { endpoint: 'shepherd.example.net:8080' };

// Roles left to other daemons, which must exist, and whether this daemon could do anything at all.
testRows([
  [{ roles: ALL, database: embedded }, null],
  [{ roles: ['console'], database: embedded }, 'no other daemon reaches database.embedded'],
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
