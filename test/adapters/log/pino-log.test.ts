import { describe, expect, test, vi } from 'vitest';
import { createPinoLog, type LogOptions } from '../../../src/adapters/log/pino-log.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import { PATIENCE } from '../../support/patience.ts';
import { testRows } from '../../support/rows.ts';

/** A log and its output, one entry per write. */
function logging(change: Partial<LogOptions> = {}) {
  const written: string[] = [];
  const write = (line: string) => void written.push(line);
  const log = createPinoLog({
    level: 'debug',
    format: 'json',
    isTerminal: false,
    write,
    ...change,
  });
  return { log, written };
}
const parsed = (written: readonly string[]) =>
  written.map((line) => JSON.parse(line) as Record<string, unknown>);
const failure = () =>
  new Unreachable('scan', { cause: new Error('connect', { cause: new Error('ECONNREFUSED') }) });

describe('the log as JSON', () => {
  test('writes each record as one line in one write', () => {
    const { log, written } = logging();
    log.info({ machine: 'm-1', stderr: 'two\nlines' }, 'agent started');
    log.warn({ attempt: 2 }, 'again');
    expect(written).toHaveLength(2);
    for (const line of written) expect(line).toMatch(/^[^\n]+\n$/);
    expect(parsed(written)).toEqual([
      expect.objectContaining({ level: 'info', machine: 'm-1', msg: 'agent started' }),
      expect.objectContaining({ level: 'warn', attempt: 2, msg: 'again' }),
    ]);
  });

  test('gives a record its time, and neither process nor host', () => {
    const { log, written } = logging();
    log.info({}, 'up');
    const [record] = parsed(written);
    expect(Object.keys(record!).toSorted()).toEqual(['level', 'msg', 'time']);
    expect(new Date(String(record!['time'])).toISOString()).toBe(record!['time']);
  });

  test('names the component of a child log', () => {
    const { log, written } = logging();
    log.child({ component: 'mirror' }).info({}, 'scanned');
    expect(parsed(written)).toMatchObject([{ component: 'mirror', msg: 'scanned' }]);
  });

  test('omits records below the level', () => {
    const { log, written } = logging({ level: 'warn' });
    log.debug({}, 'a');
    log.info({}, 'b');
    log.error({}, 'c');
    expect(parsed(written)).toMatchObject([{ level: 'error', msg: 'c' }]);
  });

  test('shows an error with all its causes', () => {
    const { log, written } = logging();
    log.error({ err: failure() }, 'the BMDB could not be scanned');
    const [{ err }] = parsed(written) as [{ err: { message: string; stack: string } }];
    expect(err.message).toBe('scan: connect: ECONNREFUSED');
    expect(err.stack.match(/caused by/g)).toHaveLength(2);
  });
});

describe.each(['json', 'pretty'] as const)('the log of errors (%s)', (format) => {
  /** Errors like those of HTTP clients, with the request attached. */
  const refused = () => {
    const config = { headers: { authorization: 'Bearer hidden' }, data: 'hidden' };
    return Object.assign(new Error('401'), { config, code: 'ERR_BAD_REQUEST', response: config });
  };
  const lines = (err: unknown) => {
    const { log, written } = logging({ format });
    log.error({ err }, 'it failed');
    return written.join('');
  };

  test.each<[string, () => unknown]>([
    ['an error', refused],
    ['a cause', () => new Error('outer', { cause: refused() })],
    ['one of several', () => new AggregateError([refused()], 'all failed')],
    ['what is no error', () => ({ message: 'no', config: { token: 'hidden' } })],
    ['a cause that is none', () => new Error('401', { cause: { config: 'hidden' } })],
  ])('writes the texts of %s, and none of the objects attached to it', (_, make) => {
    const line = lines(make());
    expect(line).not.toContain('hidden');
    expect(line).toContain('it failed');
  });

  test('writes the code of an error and the texts of all the errors that it contains', () => {
    expect(lines(refused())).toContain('ERR_BAD_REQUEST');
    const inner = Object.assign(new Error('connect ::1'), { code: 'ECONNREFUSED' });
    expect(lines(new AggregateError([inner, 'and a text'], ''))).toMatch(
      /connect ::1[^]*ECONNREFUSED[^]*and a text/,
    );
    expect(lines('only a text')).toContain('only a text');
    expect(lines(undefined)).toContain('it failed');
  });
});

describe.each(['json', 'pretty'] as const)('the log of secrets (%s)', (format) => {
  const names = ['token', 'password', 'privateKey', 'userdata', 'customdata', 'root_password'];

  testRows(names)('never writes %s, at the top or one level below', async (name) => {
    const { log, written } = logging({ format });
    log.info({ [name]: 'hush', provider: { [name]: 'hush', id: 'p-1' } }, 'configured');
    await vi.waitFor(() => expect(written.join('')).toContain('configured'), PATIENCE);
    const text = written.join('');
    expect(text).not.toContain('hush');
    expect(text.match(/\[secret\]/g)).toHaveLength(2);
    expect(text).toContain('p-1');
  });

  test('does not write those of a child either', async () => {
    const { log, written } = logging({ format });
    log.child({ component: 'ssh' }).info({ privateKey: 'hush' }, 'key read');
    await vi.waitFor(() => expect(written.join('')).toContain('key read'), PATIENCE);
    expect(written.join('')).not.toContain('hush');
  });
});

describe.each(['json', 'pretty'] as const)('B6: the log of machine output (%s)', (format) => {
  const longest = 32 * 1024;
  const hostile = '\u001b]0;owned\u0007\u001b[2J\u202egpj.exe\u2028\u200b';
  const written = async (fields: object) => {
    const { log, written: lines } = logging({ format });
    log.warn(fields, 'a machine said so');
    await vi.waitFor(() => expect(lines.join('')).toContain('a machine said so'), PATIENCE);
    return lines.join('');
  };

  test.each<[string, (text: string) => object]>([
    ['a field', (stderr) => ({ stderr })],
    ['many of a list', (text) => ({ warnings: Array.from({ length: 700 }, () => text) })],
    [
      'many fields',
      (text) => Object.fromEntries('a b c d e f g h i j'.split(' ').map((key) => [key, text])),
    ],
    ['keys', (text) => Object.fromEntries([1, 2, 3].map((key) => [`${text}${key}`, text]))],
    ['a field of a field', (text) => ({ device: { tags: { name: [text] } } })],
    ['an error', (text) => ({ err: new Error(text, { cause: new Error(text) }) })],
    ['several errors', (text) => ({ err: new AggregateError([new Error(text), text], text) })],
    ['a code', (code) => ({ err: Object.assign(new Error('refused'), { code }) })],
    ['what is no error', (err) => ({ err })],
  ])(
    'shortens text in %s, and passes no control sequence to the terminal',
    async (_where, fieldsOf) => {
      const text = await written(fieldsOf(`${hostile}${'x'.repeat(200_000)}`));
      expect(text.length).toBeLessThan(longest);
      expect(text).toMatch(/^[\P{C}\t\n]*$/u);
      expect(text).toMatch(/\\u\{(1b|202e)\}|refused/);
    },
  );

  test('shows bytes and endless values by their size', async () => {
    const endless: { again?: object } = {};
    endless.again = endless;
    const text = await written({ stdout: Buffer.alloc(1_000_000), endless });
    expect(text).toContain('(1000000 bytes)');
    expect(text.length).toBeLessThan(1_000);
  });
});

describe('the log format', () => {
  testRows([
    ['auto', true, false],
    ['auto', false, true],
    ['json', true, true],
    ['json', false, true],
    ['pretty', true, false],
    ['pretty', false, false],
  ] as const)('is for %s, on a terminal: %s', async (format, isTerminal, isJson) => {
    const { log, written } = logging({ format, isTerminal });
    log.info({ component: 'mirror', machine: 'm-1' }, 'up');
    await vi.waitFor(() => expect(written.join('')).toContain('m-1'), PATIENCE);
    const text = written.join('');
    expect(text.startsWith('{')).toBe(isJson);
    if (!isJson) expect(text).toContain('mirror: up');
    expect(text.includes('\u001b['), 'colours').toBe(isTerminal && !isJson);
  });

  test('has one line per record for people, with errors apart', async () => {
    const { log, written } = logging({ format: 'pretty' });
    log.info({ machine: 'm-1', nested: { a: 1 } }, 'one');
    log.info({ machine: 'm-2' }, 'two');
    await vi.waitFor(() => expect(written.join('')).toContain('two'), PATIENCE);
    expect(written.join('').trimEnd().split('\n')).toHaveLength(2);
    log.error({ err: failure() }, 'three');
    await vi.waitFor(() => expect(written.join('')).toContain('three'), PATIENCE);
    expect(written.join('')).toContain('ECONNREFUSED');
  });
});

describe.each(['json', 'pretty', 'journal'] as const)('a log on a full disk (%s)', (format) => {
  const full = () =>
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });

  test('states plainly which other file could not be written', () => {
    const { log, written } = logging({ format });
    log.error({ err: new Error('the key was not kept', { cause: full() }) }, 'it failed');
    expect(written.join('')).toContain('the disk is full; make room on it: the key was not kept');
  });

  /** A log whose writes succeed as prescribed, then always. `lines` are the written lines. */
  function logWithRoom(...room: readonly boolean[]) {
    const written: string[] = [];
    const left = [...room];
    const write: LogOptions['write'] = (line, done) => {
      const fits = left.shift() ?? true;
      if (fits) written.push(line);
      done(fits ? null : full());
    };
    return { log: logging({ format, write }).log, written };
  }
  const saying = (written: readonly string[], text: string) =>
    vi.waitFor(() => expect(written.join('')).toContain(text), PATIENCE);

  test('loses lines, and reports their number once it can write again', async () => {
    const { log, written } = logWithRoom(false, false, false);
    for (const text of ['one', 'two', 'three', 'four']) log.info({}, text);
    await saying(written, 'log lines were lost');
    log.info({}, 'five');
    await saying(written, 'five');
    expect(written).toHaveLength(3);
    // The last line before the loss may be cut. Later text is not part of it.
    expect(written[0]).toMatch(/^\n.*four/);
    expect(written[1]).toMatch(/"lost":3/);
    expect(written[1]).toContain('the disk is full');
    expect(written[2]).toMatch(/^[^\n].*five/);
  });

  test('keeps the count if the disk recovers before the loss is reported', async () => {
    const { log, written } = logWithRoom(false, false, true, false, true);
    for (const text of ['one', 'two', 'three', 'four']) log.info({}, text);
    await saying(written, '"lost":');
    expect(written.join('').match(/"lost":\d+/g)).toEqual(['"lost":2']);
  });
});
