import { expect, test } from 'vitest';
import { takeSystemdEnvironment } from '../../../src/adapters/systemd/systemd.ts';
import { testRows } from '../../support/rows.ts';

const PID = 4711;
const taken = (env: Record<string, string>) => takeSystemdEnvironment(env, PID);

test("reads systemd's variables once, and hides them from child processes", () => {
  const env = {
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '60000000',
    WATCHDOG_PID: `${PID}`,
    LISTEN_FDS: '2',
    LISTEN_FDNAMES: 'agents:console',
    LISTEN_PID: `${PID}`,
    PATH: '/usr/bin',
  };
  expect(taken(env)).toEqual({
    notifySocket: '/run/systemd/notify',
    watchdogMs: 60_000,
    sockets: new Map([
      ['agents', 3],
      ['console', 4],
    ]),
  });
  expect(env).toEqual({ PATH: '/usr/bin' });
});

// sd_listen_fds(3), sd_watchdog_enabled(3): values for another process are not for us.
testRows([
  ['no systemd', {}, { watchdogMs: null, names: [] }],
  ['a watchdog of another process', { WATCHDOG_USEC: '1', WATCHDOG_PID: '1' }, {}],
  ['a watchdog of any process', { WATCHDOG_USEC: '5000' }, { watchdogMs: 5 }],
  ['no time', { WATCHDOG_USEC: '0' }, {}],
  ['sockets of another process', { LISTEN_FDS: '1', LISTEN_PID: '1' }, {}],
  ['sockets of nobody', { LISTEN_FDS: '1' }, {}],
  ['sockets without names', { LISTEN_FDS: '1', LISTEN_PID: `${PID}` }, { names: ['unknown'] }],
  [
    'two of one name',
    { LISTEN_FDS: '2', LISTEN_FDNAMES: 'a:a', LISTEN_PID: `${PID}` },
    { names: ['a'] },
  ],
])("reads systemd's value of %s", (_, env: Record<string, string>, told) => {
  const { watchdogMs, sockets } = taken(env);
  const expected = { watchdogMs: null, names: [], ...told };
  expect({ watchdogMs, names: [...sockets.keys()] }).toEqual(expected);
});
