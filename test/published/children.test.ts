import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { judgedChild, takeExchangesOfChildren } from './children.ts';
import { judge } from './equinix/judge.ts';

/** Says what an emulator would, on its channel. */
const PROGRAM = `
  const { channel } = require('node:diagnostics_channel');
  const said = { method: 'GET', route: '/devices/{id}', path: '/devices/x', query: {}, status: 200 };
  const rest = { userAgent: '', isInjected: false, forcedStates: new Set(['odd']) };
  for (const state of ['odd', 'even']) {
    const reply = JSON.stringify({ state });
    channel('shepherd:equinix:exchange').publish({ ...said, ...rest, reply });
  }`;

test('A: what an emulator in a child process says is judged', () => {
  expect(takeExchangesOfChildren()).toEqual([]);
  execFileSync(process.execPath, ['-e', PROGRAM], { env: { ...process.env, ...judgedChild } });
  const exchanges = takeExchangesOfChildren();
  expect(exchanges.map((one) => judge(one))).toEqual([
    [],
    [expect.stringContaining('Device.state is to be =queued')],
  ]);
  expect(takeExchangesOfChildren()).toEqual([]);
});
