import { describe, expect, test } from 'vitest';
import type { Transport, Question } from '../../../src/commands/remote/client.ts';
import { NoConsole } from '../../../src/commands/remote/failures.ts';
import { createLogRing, type LogRing } from '../../../src/adapters/log/log-ring.ts';
import { createLogControl } from '../../../src/daemon/console-means.ts';
import { createQuietLog } from '../../../src/adapters/log/quiet-log.ts';
import { digestOf, makeToken } from '../../../src/console/access/secrets.ts';
import { createHttpTransport } from '../../../src/commands/remote/client.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { createSeededRandom, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { openConsole } from '../../console/api/console-stand.ts';
import { machineStand } from '../machine-stand.ts';
import { runThrough, scriptedTransport, type RunMeans } from '../run-through.ts';

const HERE = 'https://a.example/';
const AT = Date.UTC(2025, 10, 1, 12);
const record = (number: number, change: object = {}) => ({
  ...{ number, atMs: AT + number, level: 'info', component: 'recovery', message: `line ${number}` },
  ...{ fields: { slot: 'metal/a' }, ...change },
});
const session = (host: string, change: object = {}) => ({
  ...{ sessionId: host, host, consoleUrl: `https://${host}.example/`, isSelf: host === 'a' },
  ...{ component: 'shepherd', endedAtMs: null, ...change },
});

interface Daemon {
  /** Answers of `log`, one for each time that it is asked; the last one again and again. Null: none. */
  readonly answers: readonly (object | null)[];
}

/** Runs `shepherd logs` against consoles; a console without a daemon does not answer. */
async function logsOf(daemons: Readonly<Record<string, Daemon>>, ...args: string[]) {
  const asked: Question[] = [];
  const turns = new Map<string, number>();
  const stop = new AbortController();
  const transportTo = (where: string): Transport =>
    scriptedTransport(
      async (question) => {
        if (question.path.endsWith('/sessions')) {
          return reply({ atMs: 1, sessions: Object.keys(daemons).map((host) => session(host)) });
        }
        if (question.path.endsWith('/resolve')) {
          const found = { slot: 'metal/a', machineId: null, by: 'slot', whole: true };
          return reply({ machines: [found], more: false });
        }
        asked.push(question);
        const host = new URL(where).hostname.split('.')[0]!;
        const turn = turns.get(host) ?? 0;
        turns.set(host, turn + 1);
        const answers = daemons[host]?.answers ?? [];
        const answer = answers[Math.min(turn, answers.length - 1)];
        if (!answer) throw new NoConsole(`no console answers at ${where}`);
        const daemon = { host, sessionId: host };
        return reply({ daemon, newest: 10, records: [], ...answer });
      },
      { where, elsewhere: transportTo },
    );
  let sleeps = 0;
  const ran = await runThrough(
    {
      ...{ transport: transportTo(HERE), monotonic: () => 0, signal: stop.signal },
      async sleep() {
        if ((sleeps += 1) === Math.max(2, daemons['a']!.answers.length)) stop.abort();
      },
    },
    ['logs', ...args],
  );
  return { ...ran, asked };
}
const reply = (body: object) => ({ status: 200, headers: {}, text: JSON.stringify(body) });

describe('logs', () => {
  test('shows the lines of the daemon that answers, and names the others', async () => {
    const { stdout, stderr, code } = await logsOf({
      a: { answers: [{ records: [record(1, { level: 'warn', fields: { why: 'two words' } })] }] },
      b: { answers: [] },
    });
    expect(stdout).toBe('2025-11-01T12:00:00.001Z warn  recovery: line 1 why="two words"\n');
    expect(stderr).toBe(
      'shepherd: this is the log of one daemon; --all also asks the daemons on b\n',
    );
    expect(code).toBe(0);
  });

  test('asks for lines about the named machine, by its slot', async () => {
    const { asked } = await logsOf({ a: { answers: [{}] } }, 'a', '--level', 'warn', '--tail', '7');
    expect(asked[0]!.query).toMatchObject({ slot: 'metal/a', level: 'warn', limit: 7 });
  });

  test('merges the lines of all daemons by time, and fails if a daemon does not answer', async () => {
    const daemons = {
      a: { answers: [{ records: [record(1), record(4)] }] },
      b: { answers: [{ records: [record(3)] }] },
      c: { answers: [] },
    };
    const { stdout, stderr, code } = await logsOf(daemons, '--all', '--json');
    const { records, failures } = JSON.parse(stdout);
    expect(records.map(({ host, number }: never) => [host, number])).toEqual([
      ['a', 1],
      ['b', 3],
      ['a', 4],
    ]);
    expect(failures).toEqual([
      { where: 'daemon on c', failure: expect.stringContaining('answers') },
    ]);
    expect(stderr).toContain('daemon on c: no console answers');
    expect(code).toBe(1);
  });

  test('follows: continues after the newest line, and says when another daemon answers', async () => {
    const other = { daemon: { host: 'b', sessionId: 'b' }, newest: 1, records: [record(1)] };
    const { stdout, stderr, asked } = await logsOf(
      { a: { answers: [{ records: [record(9)], newest: 9 }, other] } },
      ...['--follow', '-o', 'ndjson'],
    );
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ host, number }) => [host, number])).toEqual([
      ['a', 9],
      ['b', 1],
    ]);
    expect(asked.map(({ query }) => [query!['after'], query!['limit']])).toEqual([
      [0, 10],
      [9, 1_000],
    ]);
    expect(stderr).toContain('from here on: the log of the daemon on b');
  });

  test('follows on after a restart of the only daemon, but ends if it never answered', async () => {
    const after = { daemon: { host: 'a', sessionId: 'a2' }, records: [record(20)], newest: 20 };
    const answers = [{ records: [record(9)], newest: 9 }, null, after];
    const { stdout, stderr } = await logsOf({ a: { answers } }, '--follow');
    expect(stdout).toMatch(/line 9 .*\n.*line 20 .*\n$/);
    expect(stderr).toMatch(/no console answers.*\n.*a\.example\/ answers again/);
    expect(await logsOf({ a: { answers: [] } }, '--follow')).toMatchObject({ code: 5 });
  });
});

/** A console with a log ring, and a command at it with a token of this role. */
async function consoleWithLog() {
  const { bmdb } = machineStand();
  const random = createSeededRandom(5);
  const clock = createSimulatedClock();
  const recent = createLogRing(1_000);
  const log = createQuietLog(recordingLog(), 'info', clock);
  const logControl = createLogControl({
    ...{ recent, levels: log.levels, events: bmdb.events, clock, log, host: 'rack7' },
  });
  const web = await openConsole({
    ...{ logControl, accounts: { repository: bmdb.access, random, events: bmdb.events } },
  });
  const run = async (role: 'viewer' | 'operator', args: string[], more: Partial<RunMeans> = {}) => {
    const { id, token } = makeToken(random);
    const about = { role, providers: null, forMs: 60_000, owner: 'test', name: id };
    await bmdb.access.tokens.add({ id, digest: digestOf(token), ...about });
    const transport = createHttpTransport({ url: web.url, token, version: '0.0.0', advice: '' });
    return runThrough(
      { transport, monotonic: () => 0, sleep: async () => undefined, ...more },
      args,
    );
  };
  return { recent, logControl, run };
}
const lineOf = (msg: string) =>
  JSON.stringify({ level: 'info', time: new Date(AT).toISOString(), msg });

test('the console gives its latest log lines to operators, and not to viewers', async () => {
  const { recent, run } = await consoleWithLog();
  recent.write(lineOf('one'));
  const { stdout } = await run('operator', ['api', 'GET', 'log']);
  expect(JSON.parse(stdout)).toMatchObject({
    daemon: { host: 'rack7' },
    records: [{ number: 1_001, atMs: AT, level: 'info', component: null, message: 'one' }],
    ...{ newest: 1_001, lost: 0 },
  });
  expect(await run('viewer', ['api', 'GET', 'log'])).toMatchObject({ code: 4 });
});

test('follows every line of a busy daemon and of its next process, and says how many lines are gone', async () => {
  const { recent, logControl, run } = await consoleWithLog();
  const write = (ring: LogRing, from: number, to: number) => {
    for (let n = from; n < to; n += 1) ring.write(lineOf(`line ${n}`));
  };
  const stop = new AbortController();
  const restarted = createLogRing(1_000_000);
  const between = [
    () => write(recent, 1, 2_501),
    () => {
      Object.assign(logControl, { recent: restarted });
      write(restarted, 2_501, 5_501);
    },
    () => write(restarted, 5_501, 9_511),
    () => stop.abort(),
  ];
  const { stdout, stderr } = await run('operator', ['logs', '--follow', '-o', 'ndjson'], {
    sleep: async () => between.shift()!(),
    signal: stop.signal,
  });
  const numbers = stdout
    .trim()
    .split('\n')
    .map((line) => Number(JSON.parse(line).message.slice(5)));
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  const missing = Array.from({ length: 9_510 }, (_, at) => at + 1).filter(
    (number) => !numbers.includes(number),
  );
  expect(missing).toEqual(Array.from({ length: 10 }, (_, at) => 5_501 + at));
  expect(stderr).toContain('10 log lines were dropped before they could be read');
});
