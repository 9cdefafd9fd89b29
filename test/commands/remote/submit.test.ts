import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { NoConsole } from '../../../src/commands/remote/failures.ts';
import {
  createHttpTransport,
  type Question,
  type Reply,
} from '../../../src/commands/remote/client.ts';
import { runThrough, scriptedTransport, type CommandResult } from '../run-through.ts';

const KEY = '00000000-0000-4000-8000-000000000001';

type ScriptedAnswer = readonly [status: number, body: object] | 'lost' | 'nobody';

/** A transport whose answers are told beforehand, in virtual time; what was asked of it. */
function scripted(answerTo: (question: Question, asked: number) => ScriptedAnswer, answerMs = 0) {
  const asked: Question[] = [];
  const transport = scriptedTransport(async (question): Promise<Reply> => {
    asked.push(question);
    if (question.method === 'POST') nowMs += answerMs;
    question.signal.throwIfAborted();
    const answer = answerTo(question, asked.length);
    if (typeof answer === 'string') throw new NoConsole('it hung up', answer === 'lost');
    const [status, body] = answer;
    return { status, headers: {}, text: JSON.stringify(body) };
  });
  let nowMs = 0;
  const run = (...args: string[]): Promise<CommandResult> =>
    runThrough(
      { transport, monotonic: () => nowMs, sleep: async (ms) => void (nowMs += ms), signal },
      args,
    );
  const stop = new AbortController();
  const { signal } = stop;
  const keysOf = (method: string) =>
    asked
      .filter((each) => each.method === method)
      .map(({ headers }) => headers?.['idempotency-key']);
  return { run, asked, stop, keysOf, nowMs: () => nowMs };
}

const problem = (status: number, code: string): ScriptedAnswer => [
  status,
  { type: `/problems/${code}`, title: code, status, detail: `it is ${code}`, code },
];
const request = (change: object = {}) => ({
  ...{ key: KEY, verb: 'freeze', provider: null, slot: null, machineId: null, pool: null },
  ...{ balancer: null, by: 'ann', role: 'admin', proven: true, reason: 'a storm', batch: null },
  ...{ createdAtMs: 1, expiresAtMs: 3_600_001, state: 'done', outcome: 'it is so' },
  ...{ settledAtMs: 2, ...change },
});
const FREEZE = ['fleet', 'freeze', '--reason', 'a storm'];

describe('fleet freeze --for', () => {
  const frozen = request({ verb: 'freeze-until' });

  test('asks for an end that is counted by the clock of the database', async () => {
    const { run, asked } = scripted(({ method }) => [200, method === 'GET' ? { atMs: 5 } : frozen]);
    expect(await run(...FREEZE, '--for', '2h')).toMatchObject({ code: 0 });
    const bodies = asked.flatMap(({ body }) => body ?? []);
    expect(bodies).toEqual([
      { verb: 'freeze-until', scope: 'fleet', untilMs: 7_200_005, reason: 'a storm' },
    ]);
  });

  test('keeps the first end when it is repeated with its key', async () => {
    const { run, keysOf } = scripted(() => [200, frozen]);
    expect(await run(...FREEZE, '--for', '2h', '--key', KEY)).toMatchObject({ code: 0 });
    expect(keysOf('POST')).toEqual([]);
  });

  test('does not take the freeze of another scope with the same key for its own', async () => {
    const { run, keysOf } = scripted(() => [200, frozen]);
    await run(...FREEZE, '--provider', 'metal', '--for', '2h', '--key', KEY);
    expect(keysOf('POST')).toHaveLength(1);
  });
});

test('the wait at the console is part of --wait', async () => {
  const open = request({ state: 'open', outcome: null, settledAtMs: null });
  const { run, nowMs } = scripted(() => [200, open], 20_000);
  expect(await run(...FREEZE, '--wait', '20s', '--json')).toMatchObject({ code: 3 });
  expect(nowMs()).toBe(20_000);
});

describe('an order whose answer is lost', () => {
  test.each<ScriptedAnswer>(['lost', problem(503, 'unavailable'), problem(409, 'still-filing')])(
    'is asked for again under its key: %j',
    async (first) => {
      const { run, keysOf } = scripted((_, asked) => (asked < 3 ? first : [200, request()]));
      expect(await run(...FREEZE)).toMatchObject({ code: 0, stderr: '' });
      expect(keysOf('POST')).toEqual(Array(3).fill(`"${KEY}"`));
    },
  );

  test.each(['0s', '30s'])(
    'is told with its key when the time is over: --wait %s',
    async (wait) => {
      const { run, nowMs } = scripted(() => 'lost');
      const { code, stderr } = await run(...FREEZE, '--wait', wait);
      expect(code).toBe(3);
      expect(stderr).toContain(`so the request may have been submitted`);
      expect(stderr).toContain(`repeat the same command with --key '${KEY}'`);
      expect(nowMs()).toBe(wait === '0s' ? 10_000 : 30_000);
      const json = await scripted(() => problem(503, 'unavailable')).run(...FREEZE, '-o', 'json');
      expect(json.code).toBe(3);
      expect(JSON.parse(json.stderr.replace('shepherd: ', ''))).toMatchObject({
        ...{ code: 'may-be-filed', key: KEY },
      });
    },
  );

  test('is told with its key after an interrupt, whose exit code it has', async () => {
    const stand = scripted(() => {
      stand.stop.abort();
      return 'lost';
    });
    const { code, stderr } = await stand.run(...FREEZE);
    expect(code).toBe(130);
    expect(stderr).toContain(`--key '${KEY}'`);
    expect(stand.asked).toHaveLength(1);
  });

  test('stays in doubt where the console then says who may not ask', async () => {
    const { run } = scripted((_, asked) => (asked === 1 ? 'lost' : problem(401, 'not-signed-in')));
    const { code, stderr } = await run(...FREEZE);
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining(KEY) });
  });

  test('is in no doubt where nobody was reached, or the console refuses it', async () => {
    const away = scripted(() => 'nobody');
    expect(await away.run(...FREEZE)).toMatchObject({ code: 5 });
    expect(away.asked).toHaveLength(1);
    const refused = scripted((_, asked) => (asked === 1 ? 'lost' : problem(422, 'refused')));
    const told = await refused.run(...FREEZE);
    expect(told).toMatchObject({ code: 1, stdout: expect.stringContaining('REFUSED') });
  });
});

describe('an order that is filed', () => {
  const open = request({ state: 'open', outcome: null, settledAtMs: null });

  test('is told with its key though nobody answers any more', async () => {
    const { run, keysOf } = scripted(({ method }) => (method === 'POST' ? [202, open] : 'lost'));
    const { code, stdout } = await run(...FREEZE, '--wait', '5s');
    expect(code).toBe(3);
    expect(stdout).toMatch(/freeze fleet: submitted/);
    expect(stdout).toContain(`key: ${KEY}`);
    expect(keysOf('POST')).toHaveLength(1);
  });

  test('is told with its key after an interrupt', async () => {
    const stand = scripted(({ method }) => {
      if (method === 'POST') return [202, open];
      stand.stop.abort();
      return 'lost';
    });
    const { code, stdout } = await stand.run(...FREEZE, '--wait', '5s');
    expect(code).toBe(130);
    expect(stdout).toContain(`key: ${KEY}`);
  });
});

async function consoleOf(
  answer: (at: number, sent: IncomingMessage, back: ServerResponse) => Promise<void>,
) {
  let count = 0;
  const server = createServer((sent, back) => void answer((count += 1), sent, back));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return createHttpTransport({ url, token: null, version: '0.0.0', advice: 'see to it' });
}

test('over HTTP: a console hangs up, a gateway has no console, half an answer comes, and then one', async () => {
  const keys: unknown[] = [];
  const transport = await consoleOf(async (at, sent, back) => {
    keys.push(sent.headers['idempotency-key']);
    await text(sent);
    if (at === 1) return void sent.socket.destroy();
    if (at === 2) return void back.writeHead(502).end('<html>');
    if (at === 3) {
      back.writeHead(200, { 'content-length': 500 }).write('{"key"', () => sent.socket.destroy());
      return;
    }
    back.writeHead(200).end(JSON.stringify(request()));
  });
  const means = { transport, monotonic: systemClock.monotonic, sleep: async () => undefined };
  expect(await runThrough(means, FREEZE)).toMatchObject({ code: 0, stderr: '' });
  expect(keys).toEqual(Array(4).fill(`"${KEY}"`));
});

describe('a command repeated with --key', () => {
  const ID = '00000000-0000-4000-8000-00000000000a';
  const one = { provider: 'metal', slot: 'metal/slot-1', machineId: ID, key: 'K' };
  const order = request({ ...one, verb: 'reboot' });
  const slots = ['metal/slot-1', 'metal/slot-2'];
  const batch = {
    ...{ key: 'K', verb: 'batch', by: 'ann', role: 'admin', proven: true, reason: 'a storm' },
    ...{ createdAtMs: 1, expiresAtMs: 3_600_001, counts: { open: 0, done: 2, refused: 0 } },
    refusals: [],
    requests: slots.map((slot) =>
      request({ ...one, verb: 'reboot', slot, key: `K/${slot}`, batch: 'K' }),
    ),
  };
  /** Whatever else is asked means that it did not go on from what is there. */
  const having = (submitted: { readonly key: string }) =>
    scripted(({ method, path }) => {
      if (path === '/api/v1/fleet') return [200, { atMs: 1_000_000 }];
      if (path === `/api/v1/${'counts' in submitted ? 'batches' : 'requests'}/K`)
        return [200, submitted];
      if (method === 'POST') return [200, submitted];
      if (path === '/api/v1/resolve') return [200, { machines: [], more: false }];
      return problem(404, 'not-found');
    });
  const REBOOT = ['machine', 'reboot', '--reason', 'a storm', '--key', 'K'];
  const dry = (asked: readonly Question[]) =>
    asked.filter(({ path, query }) => query?.['dryRun'] || path.endsWith('/resolve'));

  test.each(['metal/slot-1', 'slot-1', ID, ID.slice(0, 30)])(
    'names nothing anew: %s',
    async (name) => {
      const { run, asked } = having(order);
      expect(await run(...REBOOT, name)).toMatchObject({ code: 0 });
      expect(dry(asked)).toEqual([]);
      const [sent] = asked.filter(({ method }) => method === 'POST');
      const as = name.includes('slot') ? 'metal/slot-1' : ID;
      expect(sent!.body).toMatchObject({ verb: 'reboot', slots: [as] });
    },
  );

  test.each([['--slots', slots.join()], ['--all'], ['--provider', 'metal']])(
    'counts nothing anew: %s %s',
    async (...which) => {
      const { run, asked } = having(batch);
      const args = [...REBOOT, ...which.filter((each) => each !== undefined)];
      expect(await run(...args, '--expect-count', '2')).toMatchObject({ code: 0 });
      expect(dry(asked)).toEqual([]);
    },
  );

  test('for a duration is the same order later', async () => {
    const { run, keysOf } = having(request({ ...one, verb: 'hold' }));
    const hold = ['machine', 'hold', 'slot-1', '--kind', 'preserve', '--reason', 'a storm'];
    const told = await run(...hold, '--until', '2h', '--key', 'K');
    expect(told).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('hold metal/slot-1: done'),
    });
    expect(keysOf('POST')).toEqual([]);
  });

  test('begins after a duration by the clock of the database, counted from the first time', async () => {
    const hold = ['machine', 'hold', 'slot-1', '--kind', 'preserve', '--reason', 'a storm'];
    const held = request({ ...one, verb: 'hold' });
    const found = { machines: [{ slot: 'metal/slot-1', machineId: ID }], more: false };
    const first = scripted(({ path }) => [
      200,
      path.endsWith('/fleet') ? { atMs: 5 } : path.endsWith('/resolve') ? found : held,
    ]);
    await first.run(...hold, '--from', '2h');
    expect(first.asked.flatMap(({ body }) => body ?? [])).toMatchObject([{ fromMs: 7_200_005 }]);
    const again = having(held);
    expect(await again.run(...hold, '--from', '2h', '--key', 'K')).toMatchObject({ code: 0 });
    expect(again.keysOf('POST')).toEqual([]);
  });

  test('for something else, for a duration, does nothing', async () => {
    const hold = ['machine', 'hold', '--kind', 'preserve', '--until', '2h', '--key', 'K'];
    for (const [submitted, ...args] of [
      [request({ ...one, verb: 'reboot' }), 'slot-1', '--reason', 'a storm'],
      [request({ ...one, verb: 'hold' }), 'slot-1', '--reason', 'another'],
      [request({ ...one, verb: 'hold' }), 'metal/slot-2', '--reason', 'a storm'],
    ] as const) {
      const { run, keysOf } = having(submitted);
      const { code, stderr } = await run(...hold, ...args);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/key "K" belongs to another request/),
      });
      expect(keysOf('POST')).toEqual([]);
    }
  });
});
