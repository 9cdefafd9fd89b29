import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { playScenes } from '../../support/scenes.ts';
import { commandStand, type CommandStand } from '../shown.ts';

async function open(): Promise<CommandStand> {
  const s = await commandStand();
  s.add(1);
  for (const [at, id] of ['abcd-1111', 'abcd-2222', 'wxyz-3333'].entries()) {
    on(s, at + 2, { reservationId: id, providerId: `device-${at + 2}` });
  }
  return s;
}

/** A machine as the first one, at a device of its own. */
function on(s: CommandStand, at: number, device: object): void {
  const { provided } = [...s.bmdb.tables.machines.values()][0]!.row;
  s.add(at, { provided: { ...provided!, ...device } });
}
const requests = (s: CommandStand) => s.bmdb.requests.list({ limit: 100 }, s.signal);

test('V42, V43, V45: machines are named, told in each form, and waited for', () =>
  playScenes(import.meta.dirname, 'names', {
    open,
    close: (s) => s.close(),
    run: (s, words) => s.run(words),
    steps: {
      'two machines at one address': (s) => {
        for (const [at, id] of ['one', 'two'].entries()) {
          const address = `192.0.2.200:${at + 1}`;
          on(s, at + 7, { reservationId: id, providerId: id, address });
        }
      },
      'a machine for which all was tried': (s) => {
        const reason = 'all was tried';
        s.add(9, { quarantine: { kind: 'needsHuman', reason, untilMs: null, cause: null } });
      },
      'how long it is by now': (s) => `${(s.clock.now() - 1_700_000_000_000) / 1000} s`,
      submitted: async (s) => {
        const lines = (await requests(s)).map(({ verb, slotId }) => `${verb} ${slotId}`);
        return lines.length === 0 ? 'nothing' : lines.toSorted().join('\n');
      },
    },
  }));

test('V43: -o name can be handed on, and YAML says what JSON says', async () => {
  const s = await open();
  const { stdout } = await s.run(['machines', '-o', 'name']);
  const slots = stdout.trimEnd().split('\n');
  for (const slot of slots) {
    const hold = ['machine', 'hold', slot, '--kind', 'preserve', '--wait', '0s', '--reason', 'x'];
    expect(await s.run(hold)).toMatchObject({ code: 0 });
  }
  const submitted = (await requests(s)).map(({ provider, slotId }) => `${provider}/${slotId}`);
  expect(submitted.toSorted()).toEqual(slots);
  for (const command of ['machines', 'machine show wxyz', 'machine explain wxyz', 'whoami']) {
    const told = (...flags: string[]) => s.run([...command.split(' '), ...flags]);
    const [json, yaml] = [await told('-o', 'json'), await told('-o', 'yaml')];
    expect(json.code, json.stderr).toBe(0);
    expect(parse(yaml.stdout), command).toEqual(JSON.parse(json.stdout));
    expect((await told('--json')).stdout).toBe(json.stdout);
  }
  await s.close();
});
