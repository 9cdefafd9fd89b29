import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { slotName } from '../machine-stand.ts';
import { commandStand, type CommandStand } from '../shown.ts';

let s: CommandStand;
beforeEach(async () => {
  s = await commandStand();
  const { provided } = s.bmdb.tables.machines.get(s.add(1))!.row;
  for (const [at, id] of ['abcd-1111', 'abcd-2222', 'wxyz-3333'].entries()) {
    s.add(at + 2, {
      provided: { ...provided!, reservationId: id, providerId: `device-${at + 2}` },
    });
  }
});
afterEach(() => s.close());

const run = (...args: string[]) => s.run(args);
const because = ['--reason', 'a test'];
const filed = () => s.bmdb.requests.list({ limit: 100 }, s.signal);

describe('V42: a machine is named by the unique beginning of an id', () => {
  test('by slot, id of the slot, of the machine and of the device; the whole slot is told', async () => {
    const { machineId } = (await s.bmdb.scan(s.signal)).machines[3]!;
    for (const name of [
      'wxyz',
      'metal/wxyz',
      'wxyz-3333',
      machineId,
      'metal/wxyz-3333',
      'device-4',
    ]) {
      const shown = await run('machine', 'show', name, '-o', 'name');
      expect(shown, name).toEqual({ stdout: 'metal/wxyz-3333\n', stderr: '', code: 0 });
    }
    const rebooted = await run('machine', 'reboot', 'wxyz', ...because);
    expect(rebooted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^reboot metal\/wxyz-3333: filed/),
    });
  });

  test('of several it says which, and does nothing', async () => {
    const { code, stderr, stdout } = await run('machine', 'reboot', 'abcd', ...because);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/abcd is the beginning of several; nothing was done/);
    for (const slot of ['metal/abcd-1111', 'metal/abcd-2222']) expect(stderr).toContain(slot);
    expect(await filed()).toEqual([]);
  });

  test('of an address that several have it names them, and does nothing', async () => {
    const { provided } = s.bmdb.tables.machines.get(s.add(6))!.row;
    for (const id of ['one', 'two']) {
      const address = `192.0.2.200:${id === 'one' ? 1 : 2}`;
      s.add(id === 'one' ? 7 : 8, {
        provided: { ...provided!, reservationId: id, providerId: id, address },
      });
    }
    const { code, stderr } = await run('machine', 'reboot', '192.0.2.200', ...because);
    expect(code).toBe(2);
    expect(stderr).toMatch(/is the name of several machines; nothing was done; name one .* slot:/);
    for (const slot of ['metal/one', 'metal/two']) expect(stderr).toContain(slot);
    expect(await filed()).toEqual([]);
    expect(await run('machine', 'show', '192.0.2.200:2', '-o', 'name')).toMatchObject({
      stdout: 'metal/two\n',
    });
  });

  test('of three characters nothing is guessed', async () => {
    const { code, stderr } = await run('machine', 'reboot', 'wxy', ...because);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('too short'),
    });
    expect(await filed()).toEqual([]);
  });

  test('what erases or gives up wants the whole name, and so does --exact', async () => {
    for (const verb of [
      ['reinstall', 'wxyz', '--yes'],
      ['deprovision', 'wxyz', '--yes'],
      ['reboot', 'wxyz', '--exact'],
      ['release', 'wxyz', '--forget-host-key', '--yes'],
    ]) {
      const { code, stderr } = await run('machine', ...verb, ...because);
      expect({ code, stderr }, verb.join(' ')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('the whole name is wanted; nothing was done'),
      });
    }
    expect(await filed()).toEqual([]);
    const whole = await run('machine', 'reinstall', slotName(1), '--yes', ...because);
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringContaining('filed') });
  });

  test('a name that nothing has is told with where to look', async () => {
    const { code, stderr } = await run('machine', 'reboot', 'nobody', ...because);
    expect(code).toBe(1);
    expect(stderr).toContain('no machine is named nobody; "shepherd machines" has those there are');
  });
});

describe('V43: forms of output', () => {
  test('-o name can be handed on: each line is a name of a machine', async () => {
    const { stdout } = await run('machines', '-o', 'name');
    const slots = stdout.trimEnd().split('\n');
    expect(slots).toHaveLength(4);
    for (const slot of slots) {
      expect(
        (await run('machine', 'hold', slot, '--kind', 'preserve', '--wait', '0s', ...because)).code,
      ).toBe(0);
    }
    expect(
      (await filed()).map(({ provider, slotId }) => `${provider}/${slotId}`).toSorted(),
    ).toEqual(slots);
  });

  test('YAML says what JSON says, of every command that has both', async () => {
    const { parse } = await import('yaml');
    const commands = [
      ['machines'],
      ['machine', 'show', 'wxyz'],
      ['machine', 'explain', 'wxyz'],
      ['fleet', 'status'],
      ['whoami'],
    ];
    for (const command of commands) {
      const [json, yaml] = [
        await run(...command, '-o', 'json'),
        await run(...command, '-o', 'yaml'),
      ];
      expect(json.code, json.stderr).toBe(0);
      expect(parse(yaml.stdout), command.join(' ')).toEqual(JSON.parse(json.stdout));
      expect((await run(...command, '--json')).stdout).toBe(json.stdout);
    }
  });

  test('columns are chosen, and one that is not there is told', async () => {
    const { stdout } = await run(
      'machines',
      '--columns',
      'slot,machineId',
      '--no-headers',
      '--limit',
      '1',
    );
    expect(stdout).toMatch(/^metal\/abcd-1111 +00000000-\S+\n$/);
    const { code, stderr } = await run('machines', '--columns', 'colour');
    expect(code).toBe(2);
    expect(stderr).toMatch(/no column is named colour; there is slot, state, heard/);
  });

  test('what went wrong is told as the problem, to those who want JSON', async () => {
    const { code, stderr } = await run('machines', '--filter', 'state:Odd', '-o', 'json');
    expect(code).toBe(2);
    expect(JSON.parse(stderr.replace('shepherd: ', ''))).toMatchObject({
      code: 'malformed',
      status: 400,
      errors: [{ pointer: '#/query/filter' }],
    });
  });
});

describe('V45: machine wait', () => {
  const wait = (name: string, what: string) =>
    run('machine', 'wait', name, '--for', what, '--timeout', '5s');

  test('ends with 0 when it is so, with 3 when it is late, with 1 at once when it cannot be', async () => {
    const before = s.clock.now();
    expect(await wait('wxyz', 'state=Running')).toMatchObject({ code: 0 });
    const stuck = { kind: 'needsHuman', reason: 'all was tried', untilMs: null } as const;
    s.add(9, { quarantine: stuck });
    const never = await wait(slotName(9), 'state=Running');
    expect(never).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nothing is done until'),
    });
    expect(s.clock.now()).toBe(before);
    expect(await wait('wxyz', 'hold=preserve')).toMatchObject({ code: 3 });
    expect(s.clock.now() - before).toBeGreaterThanOrEqual(5_000);
    expect(await wait('wxyz', 'state=Odd')).toMatchObject({ code: 2 });
  });
});
