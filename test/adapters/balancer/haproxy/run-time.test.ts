import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import type { Master } from '../../../../src/adapters/balancer/haproxy/master.ts';
import { createRunTimes } from '../../../../src/adapters/balancer/haproxy/run-time.ts';
import { live } from './stand.ts';

const HEAD = '1\n# be_name srv_name srv_addr srv_port srv_admin_state srv_uweight';
const server = (name: string, number: number, mode: 'drain') =>
  ({ backend: 'b', name, wanted: { address: '10.0.0.1', number, mode } }) as const;

/** A worker that ignores commands about some servers. */
function deafTo(deaf: ReadonlySet<string>) {
  const servers = new Map([['there', { number: 1, state: 0 }]]);
  const said: string[] = [];
  const master: Master = {
    processes: async () => ({ reloads: 0, failed: 0, worker: 7, old: [] }),
    reload: async () => null,
    async tell(_, command) {
      if (command === 'show sess') return '';
      const rows = [...servers].map(
        ([name, { number, state }]) => `b ${name} 10.0.0.1 ${number} ${state} 1`,
      );
      return [HEAD, ...rows].join('\n');
    },
    async tellAll(_, commands) {
      for (const command of commands) {
        said.push(command);
        const [verb, , path, what, value] = command.split(' ');
        const name = path!.slice(2);
        if (deaf.has(name)) continue;
        if (verb === 'add') servers.set(name, { number: Number(what!.split(':')[1]), state: 1 });
        if (verb === 'del') servers.delete(name);
        if (what === 'state') servers.get(name)!.state = value === 'drain' ? 8 : 1;
      }
    },
  };
  return { runTimes: createRunTimes(master, systemClock), said };
}

test('reports those of many new servers that came out right', async () => {
  const { runTimes, said } = deafTo(new Set(['m2']));
  const [added, deaf] = [server('m1', 1, 'drain'), server('m2', 2, 'drain')];
  const [drained, elsewhere] = [server('there', 1, 'drain'), server('there', 9, 'drain')];
  const { signal } = live();
  expect(await runTimes.makeAll([added, deaf, drained], signal)).toEqual(new Set([added, drained]));
  expect(said.filter((command) => command.includes('b/m1'))).toEqual([
    'add server b/m1 10.0.0.1:1 check inter 2s rise 2 fall 3 weight 1',
    'enable health b/m1',
    'set server b/m1 state drain',
  ]);
  expect(await runTimes.makeAll([elsewhere, added], signal)).toEqual(new Set([added]));
  const gone = { ...added, wanted: null };
  const never = { ...deaf, wanted: null };
  expect(await runTimes.makeAll([gone, never], signal)).toEqual(new Set([gone, never]));
});

test('does not report a server as gone that stays', async () => {
  const { runTimes } = deafTo(new Set(['there']));
  const gone = { ...server('there', 1, 'drain'), wanted: null };
  const never = { ...server('m1', 1, 'drain'), wanted: null };
  expect(await runTimes.makeAll([gone, never], live().signal)).toEqual(new Set([never]));
});
