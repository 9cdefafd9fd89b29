import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../../../src/adapters/clock/system-clock.ts';
import { findProgram, runProgram } from '../../../../../src/adapters/driver-kit/program.ts';
import { staticDriver } from '../../../../../src/adapters/provider/static/driver.ts';
import { callOf, driverContext, failureOf } from '../../driver-stand.ts';

/** A switched outlet: tells what it got, and keeps its power in a file. */
const OUTLET = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
read -r got
echo "$got" >> got
env > env
echo "$*" > args
case "$got" in
  *'"action":"cycle"'*) echo on > power ;;
  *'"action":"on"'*) echo on > power ;;
  *'"action":"off"'*) echo off > power ;;
  *'"action":"status"'*) ;;
  *) echo 'a strip of sockets cannot do this' >&2; exit 64 ;;
esac
printf '{"power":"%s"}' "$(cat power)"
`;

function stand(program = OUTLET, timeout = '1m') {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-outlet-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const at = (name: string) => join(directory, name);
  writeFileSync(at('outlet'), program, { mode: 0o755 });
  writeFileSync(at('power'), 'on\n');
  const Reset = { By: 'pdu', Strip: 'b', Outlet: 7 };
  const machine = (ID: string, SshPort: number) => ({
    ID,
    Addr: '127.0.0.1',
    SshPort,
    Location: '',
  });
  const list = [{ ...machine('a', 1), Reset }, machine('b', 2)];
  writeFileSync(at('machines.json'), JSON.stringify(list));
  const around = { baseDirectory: directory, checkFiles: true, env: { TOKEN: 'pdu-token' } };
  const command = [at('outlet'), '--quiet', '$(touch x)'];
  const settings = staticDriver
    .settings(around)
    .parse({
      inventory: 'file:machines.json',
      resets: { pdu: { kind: 'program', command, env: { PDU_TOKEN: '${TOKEN}' }, timeout } },
    }) as never;
  const provider = staticDriver.open(settings, driverContext('rack', { clock: systemClock }));
  onTestFinished(() => provider.stop());
  const read = (name: string) => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : '');
  return {
    ...{ at, provider, read, settings },
    got: () =>
      read('got')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { action: string }),
  };
}

test('a program gets one JSON object without a shell, and little else', async () => {
  const { provider, got, read } = stand();
  await provider.setPower!('a', 'off', callOf());
  expect((await provider.getMachine('a', callOf())).power).toBe('off');
  await provider.setPower!('a', 'on', callOf());
  expect(got()[0]).toEqual({ action: 'status', id: 'a', addr: '127.0.0.1', Strip: 'b', Outlet: 7 });
  const changes = got().filter(({ action }) => action !== 'status');
  expect(changes.map(({ action }) => action)).toEqual(['off', 'on']);
  expect(read('args')).toBe('--quiet $(touch x)\n');
  const names = read('env').match(/^\w+(?==)/gm) ?? [];
  expect(
    names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)).toSorted(),
  ).toEqual(['LC_ALL', 'PATH', 'PDU_TOKEN']);
});

test('a reboot cycles the power where the program supports nothing else', async () => {
  const { provider, got } = stand();
  expect((await provider.rebootMachine('a', 'graceful', callOf())).operationRef).toMatch(
    /^cycle a/,
  );
  expect(got().map(({ action }) => action)).toEqual(['status', 'graceful', 'reset', 'cycle']);
});

test('a machine without Reset lacks reset and power, and refuses both', async () => {
  const { provider } = stand();
  const { machines } = await provider.listMachines({}, callOf());
  expect(machines.map(({ id, lacks }) => [id, lacks])).toEqual([
    ['a', undefined],
    ['b', ['reboot', 'power']],
  ]);
  expect(provider.capabilities).toMatchObject({ reboot: true, power: true, reinstall: false });
  for (const refused of [
    provider.rebootMachine('b', 'force', callOf()),
    provider.setPower!('b', 'off', callOf()),
  ]) {
    expect(await failureOf(refused)).toMatchObject({
      kind: 'not-implemented',
      outcome: 'not-done',
    });
  }
});

test('the check finds a program that is not executable', async () => {
  const { at, settings } = stand();
  expect(await staticDriver.check!(settings, { hostKeyPolicy: 'tofu' })).toEqual([]);
  writeFileSync(at('script'), OUTLET);
  expect([at('script'), at(''), 'sh', 'no-such-program'].map((file) => findProgram(file))).toEqual([
    ...[null, null, '/usr/bin/sh', null],
  ]);
  rmSync(at('outlet'));
  expect(await staticDriver.check!(settings, { hostKeyPolicy: 'tofu' })).toMatchObject([
    { key: 'resets', message: expect.stringContaining('not an executable file') },
  ]);
});

test('a program that is gone did nothing, and one that hangs is killed', async () => {
  const { at, provider } = stand('#!/bin/sh\nexec sleep 1000\n', '1s');
  const hung = await failureOf(provider.setPower!('a', 'off', callOf()));
  expect(hung).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  expect(hung.message).toMatch(/^status of a: .* took longer than 1000 ms/);
  rmSync(at('outlet'));
  expect(await failureOf(provider.rebootMachine('a', 'force', callOf()))).toMatchObject({
    message: expect.stringContaining('cannot be started'),
  });
});

const run = (script: string, signal = new AbortController().signal) =>
  runProgram(
    { file: '/bin/sh', args: ['-c', script], env: {}, timeoutMs: 60_000, signal },
    systemClock,
  );

test('a program is ended with the processes that it started', async () => {
  const { at, read } = stand();
  const ending = new AbortController();
  const running = run(`sleep 1000 & echo $! > ${at('pid')}; wait`, ending.signal);
  await expect.poll(() => read('pid')).toMatch(/\d/);
  const child = Number(read('pid'));
  const isThere = () => existsSync(`/proc/${child}`) && !isZombie(child);
  onTestFinished(() => void (isThere() && process.kill(child, 'SIGKILL')));
  ending.abort();
  await expect(running).rejects.toMatchObject({ reason: 'aborted' });
  await expect.poll(isThere).toBe(false);
});
const isZombie = (pid: number) => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

test('an endless output is cut off, and one that ignores its input is no failure', async () => {
  await expect(run('while :; do echo aaaaaaaaaaaaaaaa; done')).rejects.toMatchObject({
    reason: 'oversize',
  });
  const { exitCode, stdout, stderr } = await run('exec <&-; echo out; echo err >&2; exit 3');
  expect([exitCode, stdout, stderr]).toEqual([3, 'out\n', 'err\n']);
});

test('a program of another user that hangs ends nothing but its own run', async () => {
  const kill = vi.spyOn(process, 'kill').mockImplementationOnce(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  onTestFinished(() => kill.mockRestore());
  const ending = new AbortController();
  const running = run('exec sleep 1000', ending.signal);
  ending.abort();
  await expect(running).rejects.toMatchObject({ reason: 'aborted' });
  const [group] = kill.mock.calls[0]!;
  process.kill(group, 'SIGKILL');
});

test('a program that finds no free file descriptor is not started, and ends nothing else', () => {
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { systemClock } from ${JSON.stringify(import.meta.resolve(SRC + 'clock/system-clock.ts'))};
    import { runProgram } from ${JSON.stringify(import.meta.resolve(SRC + 'driver-kit/program.ts'))};
    const held = [];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    closeSync(held.pop());
    const run = { file: '/bin/true', args: [], env: {}, timeoutMs: 60_000 };
    const signal = new AbortController().signal;
    await runProgram({ ...run, signal }, systemClock).catch(({ reason }) => {
      for (const each of held) closeSync(each);
      console.log(reason);
    });`;
  const node = [process.execPath, '--input-type=module', '-e', script];
  const { stdout, stderr } = spawnSync(
    '/bin/sh',
    ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node],
    { encoding: 'utf8' },
  );
  expect([stdout, stderr]).toEqual(['not-started\n', '']);
});
const SRC = '../../../../../src/adapters/';
