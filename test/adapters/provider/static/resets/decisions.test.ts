import { describe, expect, test } from 'vitest';
import { answerIn } from '../../../../../src/adapters/provider/static/resets/own-program.ts';
import {
  guidIn,
  ipmiArgs,
  ipmiFailure,
  powerIn,
} from '../../../../../src/adapters/provider/static/resets/ipmi.ts';
import {
  actionsFor,
  runFailure,
} from '../../../../../src/adapters/provider/static/resets/power-switch.ts';
import {
  complaintsAboutResets,
  resetsSettings,
} from '../../../../../src/adapters/provider/static/resets/settings.ts';
import { ProgramFailure } from '../../../../../src/adapters/driver-kit/program.ts';
import { testRows } from '../../../../support/rows.ts';

const env = { PW: 'secret', TOKEN: 't' };
const settingsOf = (reset: object) =>
  resetsSettings({ env, baseDirectory: '/', checkFiles: false }).safeParse({ it: reset });
const login = { username: 'shepherd', password: '${PW}' };

describe('settings of resets', () => {
  test.each([
    { kind: 'ipmi', ...login },
    { kind: 'ipmi', ...login, cipherSuite: 3, privilege: 'administrator', timeout: '5s' },
    { kind: 'redfish', ...login },
    { kind: 'program', command: ['/usr/local/bin/pdu', '-q'], env: { TOKEN: '${TOKEN}' } },
  ])('accept %o', (reset) => {
    expect(settingsOf(reset).success).toBe(true);
  });

  test('need ipmitool, or the named program', () => {
    const resets = {
      old: { kind: 'ipmi' },
      bmc: { kind: 'redfish' },
      pdu: { kind: 'program', command: ['/opt/pdu'] },
    } as const;
    expect(complaintsAboutResets(resets, () => null)).toEqual([
      {
        key: 'resets',
        message:
          'names old, whose program ipmitool is not installed; install Debian’s package ipmitool',
      },
      { key: 'resets', message: 'names pdu, whose program /opt/pdu is not an executable file' },
    ]);
    expect(complaintsAboutResets(resets, () => '/there')).toEqual([]);
  });
});

test('never puts a password into the arguments, and sends a change once', () => {
  const password = { read: () => 'secret' } as never;
  const own = { username: 'shepherd', password };
  const at = { host: '10.0.0.11', port: 623 };
  expect(ipmiArgs(own, at, true).join(' ')).toBe(
    '-v -I lanplus -H 10.0.0.11 -p 623 -U shepherd -E -L OPERATOR -C 17 -R 1 -N 5',
  );
  expect(ipmiArgs({ ...own, cipherSuite: 3, privilege: 'administrator' }, at, false)).toEqual(
    expect.arrayContaining(['ADMINISTRATOR', '3', '-R', '2']),
  );
});

test('reads power and GUID as ipmitool prints them', () => {
  expect(powerIn('Chassis Power is on\n')).toBe('on');
  expect(powerIn('Chassis Power is off\n')).toBe('off');
  for (const text of ['', 'Chassis Power is dormant\n', 'The Chassis Power is on the left\n']) {
    expect(powerIn(text)).toBe('unknown');
  }
  const guid = 'EFCDAB89-6745-23a1-efcd-ab89674523a1';
  expect(guidIn(`System GUID   : ${guid}\nGUID Encoding : IPMI\n`)).toBe(guid.toLowerCase());
  expect(guidIn('System GUID   : \n')).toBeNull();
});

const NO_SESSION = 'Error: Unable to establish IPMI v2 / RMCP+ session';
const NOISE = 'Invalid completion code received: Insufficient privilege level';
/** Texts of ipmitool 1.8.19; the marked ones were seen against `ipmi_sim` or are in the program. */
testRows([
  [`> RAKP 2 HMAC is invalid\n${NO_SESSION}`, 'auth', 'not-done', /user name or the password/],
  [
    `RAKP 2 message indicates an error : unauthorized name\n${NO_SESSION}`,
    ...(['auth', 'not-done', /user name or the password/] as const),
  ],
  [
    `RAKP 4 message indicates an error : unauthorized role or privilege level requested\n${NO_SESSION}`,
    ...(['auth', 'not-done', /too little privilege/] as const),
  ],
  [
    `${NOISE}\nSet Chassis Power Control to Reset failed: Insufficient privilege level`,
    ...(['auth', 'not-done', /too little privilege/] as const),
  ],
  ['Set Session Privilege Level to OPERATOR failed', 'auth', 'not-done', /too little privilege/],
  [
    `Error in open session response message : invalid authentication algorithm\n\n${NO_SESSION}`,
    ...(['invalid', 'not-done', /cipherSuite/] as const),
  ],
  [
    `Error in open session response message : insufficient resources for session\n${NO_SESSION}`,
    ...(['transient', 'not-done', /all sessions/] as const),
  ],
  [NO_SESSION, 'transient', 'not-done', /does not answer/],
  [
    'Set Chassis Power Control to Soft failed: Invalid data field in request',
    ...(['not-implemented', 'not-done', /does not support/] as const),
  ],
  [
    'Set Chassis Power Control to Reset failed: Command not supported in present state',
    ...(['transient', 'not-done', /refuses it at present/] as const),
  ],
  [
    'Set Chassis Power Control to Reset failed: Timeout',
    ...(['transient', 'unknown', /failed: Timeout/] as const),
  ],
  [
    `${NOISE}\nUnable to set Chassis Power Control to Reset`,
    ...(['transient', 'unknown', /Unable to set/] as const),
  ],
  ['', 'transient', 'unknown', /no reason/],
] as const)('judges %j', (stderr, kind, outcome, message) => {
  const judge = (changing: boolean) =>
    ipmiFailure({ stderr, stdout: '' }, { doing: 'cannot reset', changing });
  expect(judge(true)).toMatchObject({ kind, outcome });
  expect(judge(true).message).toMatch(message);
  expect(judge(false)).toMatchObject({ kind, outcome: 'not-done' });
});

testRows([
  ['not-started', 'transient', 'not-done'],
  ['timeout', 'transient', 'unknown'],
  ['oversize', 'permanent', 'unknown'],
  ['aborted', 'aborted', 'unknown'],
] as const)('judges a change whose program ended by %s', (reason, kind, outcome) => {
  const cause = new ProgramFailure(reason, 'ipmitool is gone');
  const what = { doing: 'cannot reset', changing: true };
  expect(runFailure(cause, what, '; is it there?')).toMatchObject({ kind, outcome });
  expect(runFailure(cause, { ...what, changing: false })).toMatchObject({ outcome: 'not-done' });
});

testRows([
  [0, '{"power":"off","since":"yesterday"}', 'off'],
  [0, '{"power":"unknown"}', 'unknown'],
] as const)('takes status %i with %s for %s', (exitCode, stdout, power) => {
  expect(answerIn({ exitCode, stdout, stderr: '' }, { doing: 'x', changing: true })).toBe(power);
});

testRows([
  [0, '{"error":"no such outlet"}', 'transient', 'not-done', /reset of a: no such outlet/],
  [0, '{"power":"On"}', 'permanent', 'unknown', /answer is not/],
  [0, 'done', 'permanent', 'unknown', /answer is not/],
  [0, '', 'permanent', 'unknown', /answer is not/],
  [64, '', 'not-implemented', 'not-done', /status 64: usage/],
  [75, '{"error":"busy"}', 'transient', 'not-done', /status 75: busy/],
  [77, '', 'auth', 'not-done', /status 77/],
  [1, '{"power":"on"}', 'transient', 'unknown', /status 1: usage/],
  [null, '', 'transient', 'unknown', /was killed/],
] as const)('judges status %o with %j', (exitCode, stdout, kind, outcome, message) => {
  const judge = (changing: boolean) => () =>
    answerIn({ exitCode, stdout, stderr: 'usage\n' }, { doing: 'reset of a', changing });
  expect(judge(true)).toThrow(expect.objectContaining({ kind, outcome }));
  expect(judge(true)).toThrow(message);
  expect(judge(false)).toThrow(expect.objectContaining({ kind, outcome: 'not-done' }));
});

testRows([
  ['on', 'unknown', ['on']],
  ['off', 'on', ['off']],
  ['reboot gracefully', 'on', ['graceful', 'reset', 'cycle']],
  ['reboot by force', 'unknown', ['reset', 'cycle']],
  ['reboot by force', 'off', ['on']],
  ['reboot gracefully', 'off', ['on']],
] as const)('carries out "%s" of a machine that is %s by %o', (wish, power, actions) => {
  expect(actionsFor(wish, power)).toEqual(actions);
});
