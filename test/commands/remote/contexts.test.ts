import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { login, showContext } from '../../../src/commands/remote/access.ts';
import { complete } from '../../../src/commands/remote/completion.ts';
import { createHttpTransport } from '../../../src/commands/remote/client.ts';
import {
  contextsFile,
  readContexts,
  without,
  writeContexts,
} from '../../../src/commands/remote/contexts.ts';
import { Interrupted } from '../../../src/commands/remote/failures.ts';
import { openTransport, tokenOf } from '../../../src/commands/remote/contexts.ts';
import { poolStatus } from '../../../src/commands/lb/status.ts';
import { throughTransport, understood } from '../../../src/commands/remote/session.ts';
import { addSimContext } from '../../../emulators/sim/commands-context.ts';
import { Malformed, UsageError } from '../../../src/domain/errors.ts';
import { issue } from '../../support/certificates.ts';
import { machineStand } from '../machine-stand.ts';
import { written } from '../run-through.ts';

const home = mkdtempSync(join(tmpdir(), 'shepherd-contexts-'));
const before = process.env['XDG_CONFIG_HOME'];
beforeEach(() => {
  process.env['XDG_CONFIG_HOME'] = home;
  rmSync(join(home, 'shepherd'), { recursive: true, force: true });
});
afterAll(() => {
  if (before === undefined) delete process.env['XDG_CONFIG_HOME'];
  else process.env['XDG_CONFIG_HOME'] = before;
  rmSync(home, { recursive: true, force: true });
});

const ONE = {
  current: 'prod',
  contexts: { prod: { url: 'https://fleet.example/', token: 'shp_x' } },
};
const means = { version: '1' };

describe('V48: the file of contexts', () => {
  test('is for its owner alone, and refused where others may read it', () => {
    writeContexts(ONE);
    expect(statSync(contextsFile()).mode & 0o777).toBe(0o600);
    expect(readContexts()).toEqual(ONE);
    for (const mode of [0o640, 0o604, 0o660, 0o644]) {
      chmodSync(contextsFile(), mode);
      expect(() => readContexts(), mode.toString(8)).toThrow(
        /other users may read it; run chmod 600/,
      );
      expect(() => readContexts()).toThrow(UsageError);
    }
  });

  test('written anew is as strict as before, whatever it was', () => {
    writeContexts(ONE);
    chmodSync(contextsFile(), 0o644);
    writeContexts({ current: null, contexts: {} });
    expect(statSync(contextsFile()).mode & 0o777).toBe(0o600);
  });

  test('that is none is told, and none at all is no mistake', () => {
    expect(readContexts()).toEqual({ current: null, contexts: {} });
    writeContexts(ONE);
    for (const text of ['{', 'contexts: {prod: {}}', 'contexts: 3']) {
      writeFileSync(contextsFile(), text);
      expect(() => readContexts(), text).toThrow(/is not a valid file of contexts/);
    }
  });
});

describe('which console is asked', () => {
  const where = async (flags: object, env: NodeJS.ProcessEnv = {}) =>
    openTransport(flags, means, env).where;
  test('a flag before the environment, the environment before the context', async () => {
    writeContexts(ONE);
    const env = { SHEPHERD_URL: 'http://127.0.0.1:1/' };
    expect(await where({ url: 'http://127.0.0.1:2' }, env)).toBe('http://127.0.0.1:2/');
    expect(await where({ context: 'prod' }, env)).toBe('https://fleet.example/');
    expect(await where({}, env)).toBe('http://127.0.0.1:1/');
    expect(await where({})).toBe('https://fleet.example/');
  });
  test('none, two, and one that is not there are told with what to do', async () => {
    await expect(where({})).rejects.toThrow(
      /no console is known; log in with "shepherd login URL"/,
    );
    await expect(where({ context: 'lost' })).rejects.toThrow(/no context is named lost/);
    await expect(where({ url: 'ftp://a/' })).rejects.toThrow(/is not the address of a console/);
  });
  test('a token is that of the context, or printed by its command', () => {
    expect(tokenOf(ONE.contexts.prod)).toBe('shp_x');
    expect(tokenOf({ url: 'x', tokenCommand: 'echo shp_y' })).toBe('shp_y');
    expect(() => tokenOf({ url: 'x', tokenCommand: 'exit 3' })).toThrow(/tokenCommand fails/);
    expect(() => tokenOf({ url: 'x', tokenCommand: 'true' })).toThrow(/prints no token/);
  });
  test('a command that prints none in time is ended, and Ctrl-C ends all', () => {
    const late = { url: 'x', tokenCommand: "trap '' TERM; exec sleep 200" };
    expect(() => tokenOf(late, false, 300)).toThrow(/prints no token within 0.3 s; correct it/);
    const cut = { url: 'x', tokenCommand: 'kill -INT $$' };
    expect(() => tokenOf(cut)).toThrow(new Interrupted());
  });
});

describe('a token', () => {
  const far = 'http://fleet.example/';
  const [url, token] = [far, 'shp_x'];

  test('goes in clear to no other machine, unless it is said that it may', async () => {
    const env = { SHEPHERD_TOKEN: 'shp_y' };
    const refusal =
      /would be sent unencrypted to http:\/\/fleet\.example\/; .*--allow-insecure-http/;
    expect(() => openTransport({ url }, means, env)).toThrow(refusal);
    expect(() => openTransport({}, means, { ...env, SHEPHERD_URL: url })).toThrow(refusal);
    writeContexts({ current: 'far', contexts: { far: { url, token } } });
    expect(() => openTransport({}, means, {})).toThrow(refusal);
    expect(openTransport({ allowInsecureHttp: true }, means, {})).toMatchObject({ where: far });
    writeContexts({ current: 'far', contexts: { far: { url, token, allowInsecureHttp: true } } });
    const transport = openTransport({}, means, {});
    expect(transport).toMatchObject({ where: far });
    for (const near of ['http://127.0.0.1:1/', 'http://localhost:1/', 'http://[::1]:1/']) {
      expect(openTransport({ url: near }, means, env)).toMatchObject({ where: near });
    }
    // Without one there is nothing to hide.
    expect(openTransport({ url: 'http://other.example/' }, means, {})).toBeDefined();
  });

  test('is not told to the console that another one of the fleet names', () => {
    const transport = createHttpTransport({
      url: 'https://a.example/',
      token,
      version: '1',
      advice: '',
    });
    expect(() => transport.elsewhere(far)).toThrow(/would be sent unencrypted/);
  });

  test('of the environment goes to the address of flag or environment, and to no context', async () => {
    const shown: (string | undefined)[] = [];
    const server = createServer(({ headers }, back) => {
      shown.push(headers.authorization);
      back.end('{}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    writeContexts({ current: 'here', contexts: { here: { url: here, token: 'shp_own' } } });
    const env = { SHEPHERD_TOKEN: 'shp_env' };
    const question = { method: 'GET', path: '/', signal: new AbortController().signal } as const;
    const [byFlag, byEnv] = [{ url: here }, { SHEPHERD_URL: here, ...env }];
    const ways = [
      [{}, env],
      [{ context: 'here' }, env],
      [byFlag, env],
      [{}, byEnv],
    ] as const;
    try {
      for (const way of ways) await openTransport(way[0], means, way[1]).send(question);
    } finally {
      server.closeAllConnections();
      server.close();
    }
    const [own, other] = ['Bearer shp_own', 'Bearer shp_env'];
    expect(shown).toEqual([own, own, other, other]);
  });

  test('is printed by no command while a shell completes', async () => {
    const ran = join(home, 'ran');
    const tokenCommand = `echo x | tee ${ran}`;
    const here = { url: 'http://127.0.0.1:1/', tokenCommand };
    writeContexts({ current: 'here', contexts: { here } });
    for (const flags of [{}, { context: 'here' }, { url: here.url }]) {
      expect(() => openTransport(flags, { ...means, isSilent: true }, {})).toThrow(UsageError);
    }
    const cli = new Command('shepherd');
    cli.command('machine').command('show <machine>');
    await complete(cli, ['machine', 'show', 'ab']);
    expect(existsSync(ran)).toBe(false);
  });
});

describe('the CA of a console', () => {
  test('is kept by login, believed alone, and found again by the address', async () => {
    const authority = await issue({ name: 'CN=our own' });
    const { key, cert } = await issue({ names: ['127.0.0.1'], by: authority });
    const server = createSecureServer({ key, cert }, (_, back) => {
      back.end(JSON.stringify({ name: 'ann', role: 'operator', providers: null, via: 'token' }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ca = join(home, 'ca.pem');
    writeFileSync(ca, `which authority it is\n${authority.cert}`);
    const flags = { name: 'here', tokenCommand: 'echo shp_x', allowInsecureHttp: false };
    const question = { method: 'GET', path: '/', signal: new AbortController().signal } as const;
    const status = async (by: object) => (await openTransport(by, means, {}).send(question)).status;
    try {
      await expect(login(url, flags)).rejects.toThrow(/no known authority .*--ca FILE/);
      await expect(login(url, { ...flags, ca: import.meta.filename })).rejects.toThrow(
        /not a PEM file of cert/,
      );
      expect((await login(url, { ...flags, ca })).text).toContain('ann is logged in');
      rmSync(ca);
      expect(readContexts().contexts['here']!.ca).toBe(authority.cert);
      expect(await status({})).toBe(200);
      expect(await status({ url })).toBe(200);
      expect(await written(showContext('here'))).not.toContain('BEGIN');
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('what a console answers', () => {
  /** Answers every question with this. */
  async function answering(answer: unknown): Promise<string> {
    const server = createServer((_, response) => void response.end(JSON.stringify(answer)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }
  const flags = { name: 'here', tokenCommand: 'echo shp_x', allowInsecureHttp: false };

  test('commands no terminal when somebody logs in', async () => {
    const url = await answering({ name: '\u001b[2Jann\u202e', role: 'admin\r' });
    const told = (await login(url, flags)).text;
    expect(told).toContain('\\u{1b}[2Jann\\u{202e} is logged in');
    expect(told).toContain('as admin\\u{d};');
  });

  test.each([null, {}, [], 5, { name: 5, role: 'admin' }, { name: 'ann' }])(
    'is no login when it is %j, and no mistake of this program',
    async (answer) => {
      const url = await answering(answer);
      await expect(login(url, flags)).rejects.toThrow(Malformed);
    },
  );

  test('is no mistake of this program when it has an unexpected form, unless it comes from our version', async () => {
    const failing = () => Promise.reject(new TypeError('undefined is not iterable'));
    const where = 'http://console/';
    const strange = understood(failing(), { where, isOurs: () => false });
    await expect(strange).rejects.toThrow(/has an unexpected form/);
    await expect(understood(failing(), { where, isOurs: () => true })).rejects.toThrow(TypeError);
  });

  test('is no mistake of this program either when a missing part shows only while the answer is printed', async () => {
    const url = await answering({ atMs: 1, pools: [{ pool: 'a' }] });
    const told: unknown[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => told.push(text) > 0);
    onTestFinished(() => void (process.exitCode = 0));
    const flags = { url, output: 'table', json: false, color: 'never' } as const;
    await throughTransport(flags, (session) => poolStatus(session, {}));
    expect(told.join('')).toContain('has an unexpected form');
    expect(process.exitCode).toBe(1);
  });
});

describe('the context of a simulator', () => {
  const { bmdb } = machineStand();
  const add = async () =>
    (await addSimContext({ bmdb, consoleUrl: 'http://127.0.0.1:9/' }, silentLog))!;

  test('is used with no further setting, and goes with it', async () => {
    const context = await add();
    expect(context).toMatchObject({ name: 'sim', isCurrent: true });
    expect(readContexts()).toMatchObject({
      current: 'sim',
      contexts: { sim: { url: 'http://127.0.0.1:9/', simulator: process.pid } },
    });
    await context.remove();
    expect(readContexts()).toEqual({ current: null, contexts: {} });
    const [token] = await bmdb.access.tokens.list(new AbortController().signal);
    expect(token!.revokedAtMs).not.toBeNull();
  });

  test('leaves the context of a person in use, and replaces one whose simulator was killed', async () => {
    writeContexts(ONE);
    const context = await add();
    expect(context.isCurrent).toBe(false);
    expect(readContexts().current).toBe('prod');
    await context.remove();
    expect(readContexts()).toEqual(ONE);
    const dead = { url: 'http://127.0.0.1:8/', simulator: 2 ** 22 + 1 };
    writeContexts({ current: 'sim', contexts: { sim: dead } });
    expect(await add()).toMatchObject({ name: 'sim', isCurrent: true });
    expect(readFileSync(contextsFile(), 'utf8')).not.toContain(':8/');
  });

  test('of one that was killed says what it is when nothing answers', async () => {
    writeContexts({
      current: 'sim',
      contexts: { sim: { url: 'http://127.0.0.1:1/', token: 'x', simulator: 1 } },
    });
    const transport = openTransport({}, means, {});
    const question = { method: 'GET', path: '/', signal: new AbortController().signal } as const;
    await expect(transport.send(question)).rejects.toThrow(
      /no console answers at http:\/\/127\.0\.0\.1:1\/ .*a killed simulator left the context sim behind: run "shepherd context remove sim"/,
    );
  });

  test('without takes what is in use out of use', () => {
    expect(without(ONE, 'prod')).toEqual({ current: null, contexts: {} });
  });
});
