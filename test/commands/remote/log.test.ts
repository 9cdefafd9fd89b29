import { describe, expect, test } from 'vitest';
import type { Transport } from '../../../src/commands/remote/client.ts';
import { NoConsole } from '../../../src/commands/remote/failures.ts';
import { runThrough, scriptedTransport } from '../run-through.ts';

const HERE = 'https://a.example/';
const line = (sessionId: string, consoleUrl: string | null, change: object = {}) => ({
  ...{ sessionId, consoleUrl, component: 'shepherd', endedAtMs: null, ...change },
});
const LEVELS = { usual: 'info', changes: [{ component: null, level: 'debug', untilMs: 60_000 }] };

/** Daemons at their consoles; `away` does not answer, `strict` does not allow it. */
async function telling(sessions: readonly object[], ...args: string[]) {
  const asked: string[] = [];
  const transportTo = (where: string): Transport =>
    scriptedTransport(
      async ({ method, path, body }) => {
        if (path.endsWith('/sessions')) return reply(200, { atMs: 1, sessions });
        asked.push(`${method} ${where} ${(body as { level?: string } | undefined)?.level ?? ''}`);
        if (where.includes('away')) throw new NoConsole(`no console answers at ${where}`);
        if (where.includes('page')) return { status: 200, headers: {}, text: '<html>log in' };
        const code = 'not-allowed';
        if (where.includes('strict')) return reply(403, { code, detail: 'it is for admins' });
        return reply(200, LEVELS);
      },
      { where, elsewhere: transportTo },
    );
  const means = { monotonic: () => 0, sleep: async () => undefined };
  const ran = await runThrough({ transport: transportTo(HERE), ...means }, [
    'log',
    'level',
    ...args,
  ]);
  return { ...ran, asked };
}
const reply = (status: number, body: object) => ({
  ...{ status, headers: {}, text: JSON.stringify(body) },
});

describe('log level --all', () => {
  const mixed = [
    line('s1', 'https://away.example/'),
    line('s2', 'http://b.example/'),
    line('s3', null),
    line('s4', 'https://strict.example/'),
    line('s5', 'https://e.example/'),
    line('s6', 'https://ended.example/', { endedAtMs: 1 }),
    line('s7', 'https://command.example/', { component: 'operator' }),
  ];

  test('asks every daemon that is alive, whatever becomes of the others, and tells of each', async () => {
    const { code, stdout, stderr, asked } = await telling(mixed, 'debug', '--all');
    expect(asked).toEqual([
      'PUT https://away.example/ debug',
      'PUT https://strict.example/ debug',
      'PUT https://e.example/ debug',
    ]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const words = stdout.replaceAll(/ +/g, ' ');
    expect(words).toContain('https://away.example/ FAILED no console answers at');
    expect(words).toContain('http://b.example/ FAILED the token would be sent unencrypted');
    expect(words).toContain('session s3 FAILED the daemon has no console');
    expect(words).toContain('https://strict.example/ FAILED it is for admins');
    expect(words).toContain('https://e.example/ all debug until');
    expect(words).not.toMatch(/ended\.example|command\.example/);
  });

  test('as JSON has what each answered, or why it did not', async () => {
    const { code, stdout } = await telling(mixed, '--all', '--json');
    expect(code).toBe(1);
    const { daemons } = JSON.parse(stdout);
    expect(daemons).toHaveLength(5);
    expect(daemons[2]).toEqual({
      ...{ sessionId: 's3', console: null, levels: null, failure: 'the daemon has no console' },
    });
    expect(daemons[4]).toMatchObject({ sessionId: 's5', levels: LEVELS, failure: null });
  });

  test('asks nobody at an address that several share, since it is not known who would answer', async () => {
    const shared = [
      ...[line('s1', 'https://lb.example/'), line('s2', 'https://lb.example/')],
      line('s3', 'https://c.example/'),
    ];
    const { code, stdout, asked } = await telling(shared, 'debug', '--all');
    expect({ code, asked }).toEqual({ code: 1, asked: ['PUT https://c.example/ debug'] });
    expect(stdout.match(/another daemon has the same console address/g)).toHaveLength(2);
  });

  test('what answers with a page is no console, and keeps nothing from the others', async () => {
    const two = [line('s1', 'https://page.example/'), line('s2', 'https://e.example/')];
    const { code, stdout } = await telling(two, 'debug', '--all');
    expect(code).toBe(1);
    expect(stdout).toMatch(/page\.example\/ +FAILED +\S+ does not answer in JSON/);
    expect(stdout).toMatch(/e\.example\/ +all +debug/);
  });

  test('ends with 0 where all of them did it', async () => {
    const two = [line('s1', 'https://a.example/'), line('s2', 'https://e.example/')];
    expect(await telling(two, 'debug', '--all')).toMatchObject({ code: 0, stderr: '' });
  });
});
