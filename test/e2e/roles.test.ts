import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { silentLog } from '../../src/adapters/log/port.ts';
import { openSimWorld, simInput, type EquinixWorld } from '../../src/commands/sim-world.ts';
import { PATIENCE } from '../support/patience.ts';
import { openTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { shepherd, type Started } from './commands.ts';
import { PATIENT_AGENTS, WAIT } from './simulated-fleet.ts';

const MACHINES = 2;
const directory = mkdtempSync(join(tmpdir(), 'shepherd-roles-'));
const file = join(directory, 'shepherd.yaml');
const running: Started[] = [];
let database: TestDatabase;
let world: EquinixWorld;
beforeAll(async () => {
  database = await openTestDatabase();
  world = await openSimWorld({ machines: MACHINES, light: true, log: silentLog });
  const config = {
    ...simInput(world),
    agent: PATIENT_AGENTS,
    database: { url: '${DATABASE_URL}' },
    console: { listen: '127.0.0.1:0' },
    log: { format: 'json' },
  };
  writeFileSync(file, stringify(config));
});
afterEach(async () => {
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGTERM');
    await ended;
  }
});
afterAll(async () => {
  await world.close();
  await database.stop();
  rmSync(directory, { recursive: true, force: true });
});

interface Told {
  readonly console: string;
  readonly agents: string;
}

/** A daemon of the one configuration, with these roles by the command line. */
async function start(roles: string): Promise<Told & Started> {
  const started = shepherd(['run', '--config', file, '--roles', roles], {
    DATABASE_URL: database.url,
    SHEPHERD_SIM_TOKEN: world.provider.secrets['TOKEN'],
  });
  running.push(started);
  let log = '';
  started.child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()));
  started.child.stdout!.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const line = await vi.waitUntil(() => {
    if (started.child.exitCode !== null) throw new Error(`it ended: ${log}`);
    return log.split('\n').find((each) => /daemon started.*\}$/.test(each));
  }, PATIENCE);
  return { ...started, ...(JSON.parse(line) as Told) };
}
const ask = async ({ console: url }: Told, path: string) => {
  const answer = await fetch(new URL(path, url));
  return { status: answer.status, text: await answer.text() };
};
const statesAt = async (daemon: Told) => {
  const { text } = await ask(daemon, '/api/v1/machines');
  const { machines } = JSON.parse(text) as { machines: { state: string; substate: string }[] };
  return machines.map(({ state, substate }) => `${state} ${substate}`);
};
const rolesOf = async (daemon: Told) => {
  const { text } = await ask(daemon, '/metrics');
  return [...text.matchAll(/^shepherd_role\{role="([a-z-]+)"\} 1$/gm)].map(([, role]) => role);
};
const ALL_RUN = Array.from({ length: MACHINES }, () => 'Running healthy');

test('one process works and hears agents, another shows the fleet; together they are a whole daemon', async () => {
  const works = await start('agent-server,loops');
  const shows = await start('console');
  expect([await rolesOf(works), await rolesOf(shows)]).toEqual([
    ['loops', 'agent-server'],
    ['console'],
  ]);
  await vi.waitFor(async () => expect(await statesAt(shows)).toEqual(ALL_RUN), WAIT);
  expect([works.agents, shows.agents]).toEqual([expect.stringMatching(/:\d+$/), 'none']);
  for (const path of ['/', '/api/v1/machines', '/api/v1/stream'])
    expect((await ask(works, path)).status, `${path} is of the other`).toBe(404);
  for (const daemon of [works, shows])
    await vi.waitFor(async () => expect((await ask(daemon, '/readyz')).status).toBe(200), PATIENCE);

  const host = () => world.hosts.list()[0]!;
  const { deviceId } = host();
  await world.hosts.loseAgent(deviceId);
  // On a busy computer an agent may have been late before, and started anew.
  await vi.waitFor(() => {
    expect(host().agents).toBe(1);
    expect(host().seen.programs).toBeGreaterThan(1);
  }, PATIENCE);
  await vi.waitFor(async () => expect(await statesAt(shows)).toEqual(ALL_RUN), WAIT);

  works.child.kill('SIGKILL');
  await works.ended;
  expect((await ask(shows, '/')).status).toBe(200);
  await world.hosts.loseAgent(deviceId);
  const shown = await vi.waitUntil(async () => {
    const states = await statesAt(shows);
    return states.some((each) => each !== 'Running healthy') && states;
  }, PATIENCE);
  expect(shown).toHaveLength(MACHINES);
  expect(host().agents, 'nobody is left who would do anything').toBe(0);
});
