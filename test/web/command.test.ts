import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AskSchema } from '../../src/console/api/submit/body.ts';
import type { Question } from '../../src/commands/remote/client.ts';
import { VERB_NAMES, type Verb } from '../../src/domain/verbs.ts';
import { commandLine, commandOf, tokenCommand, type Ask } from '../../web/acts/command.ts';
import { runThrough, scriptedTransport } from '../commands/run-through.ts';
import { testRows } from '../support/rows.ts';

/** The words that a shell makes of each command line. */
function wordsOf(lines: readonly string[]): readonly (readonly string[])[] {
  const script = [`shepherd() { printf '%s\\0' "$#" "$@"; }`, ...lines].join('\n');
  const read = execFileSync('/bin/sh', { input: script, encoding: 'utf8' }).split('\0');
  return lines.map(() => read.splice(0, 1 + Number(read[0])).slice(1));
}

const FILED = {
  ...{ key: 'k', verb: 'any', provider: null, slot: null, machineId: null, pool: null },
  ...{ balancer: null, by: 'ann', role: 'admin', proven: true, reason: 'a storm', batch: null },
  ...{ createdAtMs: 1, expiresAtMs: 2, state: 'done', outcome: 'done', settledAtMs: 2 },
};

/** What the program files when it gets these words. The console here has every name. */
async function submittedBy(words: readonly string[]): Promise<unknown> {
  const submitted: unknown[] = [];
  const answerTo = ({ method, path, query, body }: Question): object => {
    if (method === 'POST') {
      if (query?.['dryRun'] === undefined) submitted.push(body);
      return FILED;
    }
    if (path === '/api/v1/resolve') {
      const machines = [{ slot: query?.['name'], machineId: null, by: 'slot', whole: true }];
      return { machines, more: false };
    }
    if (path === '/api/v1/fleet') return { atMs: Date.UTC(2026, 0, 1) };
    if (path === '/api/v1/pools')
      return { atMs: 1, pools: [{ pool: 'web', balancer: 'lb1', members: [] }] };
    return { shelf: { total: 2, slots: [{ slot: 'metal/-odd' }, { slot: 'metal/b c' }] } };
  };
  const transport = scriptedTransport(async (question) => ({
    ...{ status: 200, headers: {} },
    text: JSON.stringify(answerTo(question)),
  }));
  let nowMs = 0;
  const sleep = async (ms: number) => void (nowMs += ms);
  const ran = await runThrough({ transport, monotonic: () => nowMs, sleep }, words);
  expect(submitted, ran.stderr).toHaveLength(1);
  return submitted[0];
}

const ONE = ['metal/a'];
const SEVERAL = { slots: ['metal/a', "metal/b's", 'metal/c d'], expectCount: 3 };
const untilMs = Date.UTC(2030, 0, 2, 3, 4);
const image = {
  ...{ url: 'https://images.example/a.raw?x=$1&y', sha256: 'ab'.repeat(32) },
  rootDevice: { name: 'nvme0n1' },
};

/** Requests of each verb, as the dialogs file them. */
const ASKS: Readonly<Record<Verb, readonly object[]>> = {
  'restart-agent': [{}, { drain: 'skip' }],
  hold: [
    { kind: 'no-start', untilMs },
    { kind: 'no-recover', fromMs: untilMs - 60_000, untilMs },
    { kind: 'no-serve', untilMs: null, force: true },
  ],
  unhold: [{ kind: 'preserve' }],
  'clear-backoff': [{}],
  withdraw: [{}],
  'cancel-install': [{}],
  note: [{ text: 'a new disk; $HOME' }, { text: '-5 disks' }],
  label: [{ set: 'rack=b4,team-' }],
  reboot: [{ force: true, drain: 'force' }, { force: false }],
  quarantine: [{ untilMs }],
  release: [{ forgetHostKey: true }, { forgetHostKey: false }],
  retire: [{}],
  unretire: [{}],
  accept: [{}],
  reinstall: [{}, { drain: 'skip' }],
  install: [{ image }, { image: { ...image, compression: 'xz', rootDevice: { serial: 'S 1' } } }],
  deprovision: [{ returnToPool: true }],
  freeze: [{ scope: 'fleet' }, { scope: 'metal' }],
  'freeze-until': [
    { scope: 'fleet', untilMs },
    { scope: 'metal', untilMs },
  ],
  thaw: [{ scope: 'fleet' }, { scope: 'metal' }],
  'pause-pool': [{ pool: 'web' }],
  'resume-pool': [{ pool: 'web', balancer: 'lb1' }],
  'thaw-pool': [{ pool: 'web' }],
  'teardown-pool': [{ pool: 'web', balancer: 'lb1' }],
  'clear-provider': [
    { provider: 'metal', hold: 'quota' },
    { provider: 'metal', shelf: ['-odd', 'b c'] },
  ],
};

const isAtLarge = (details: object) =>
  ['scope', 'pool', 'provider'].some((name) => name in details);
const rows = VERB_NAMES.flatMap((verb) =>
  ASKS[verb].flatMap((details) => {
    const ask = { verb, ...details, reason: 'it\'s "late"!' };
    if (isAtLarge(details)) return [ask];
    return [
      { ...ask, slots: ONE },
      { ...ask, ...SEVERAL },
    ];
  }),
) as readonly Ask[];

const lines = wordsOf(rows.map((ask) => commandLine(commandOf(ask)!)));

testRows(rows.map((ask, at) => [JSON.stringify(ask), ask, lines[at]!] as const))(
  'files the same request with the command as with the dialog: %s',
  async (_, ask, words) => {
    expect(AskSchema.parse(await submittedBy(words))).toEqual(AskSchema.parse(ask));
  },
);

test('makes the same token with the command as with the dialog', async () => {
  const token = {
    name: 'ci',
    role: 'operator',
    providers: ['metal', 'lab'],
    forMs: 86_400_000,
  } as const;
  expect(await submittedBy(tokenCommand(token))).toEqual(token);
  expect(await submittedBy(tokenCommand({ ...token, providers: null }))).toEqual({
    ...token,
    providers: null,
  });
});

test('quotes every text so that a shell reads it back', () => {
  const text = fc
    .string({ unit: 'binary' })
    .map((each) => each.replaceAll('\0', '').toWellFormed());
  const shell = fc.string({
    unit: fc.constantFrom(...`'"\\$\`!~#*?;&|<>(){}[] \n\t=,a-`.split('')),
  });
  const words = fc.array(fc.oneof(text, shell), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(words, { minLength: 50, maxLength: 100 }), (all) => {
      expect(wordsOf(all.map(commandLine))).toEqual(all);
    }),
    { numRuns: 2 },
  );
});

test('has no command for several machines if a name contains a comma', () => {
  const ask = { verb: 'reboot', reason: 'why', expectCount: 2 };
  expect(commandOf({ ...ask, slots: ['metal/a,b', 'metal/c'] })).toBeNull();
  expect(commandOf({ ...ask, slots: ['metal/a,b'] })).not.toBeNull();
});
