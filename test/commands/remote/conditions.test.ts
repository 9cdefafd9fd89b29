import { expect, test } from 'vitest';
import { advance } from '../../doubles/simulated-clock.ts';
import { commandStand } from '../shown.ts';

const SLOT = 'metal/slot-1';
interface Shown {
  readonly holds: readonly string[];
}
const set = (...more: readonly string[]) => ['machine', 'condition', 'set', ...more];

async function open() {
  const stand = await commandStand({ config: { conditions: { 'disk-failing': 'drain' } } });
  for (const at of [1, 2, 3]) stand.add(at);
  return stand;
}

test('a condition is set, listed, shown, explained and cleared under the name of the caller', async () => {
  const s = await open();
  const told = await s.run(set('disk-failing', 'slot-1', '--reason', 'sda: 2 media errors'));
  const line = 'disk-failing is True (drain) by token:ann: sda: 2 media errors';
  expect(told).toMatchObject({ code: 0, stderr: '', stdout: `${SLOT}: ${line}\n` });
  await s.run(set('fan-broken', 'slot-1', '--status', 'Unknown', '--reason', 'not read'));

  const { stdout: shown, stderr } = await s.run(['machine', 'show', 'slot-1']);
  expect(stderr).toBe('');
  expect(shown.replaceAll(/\s+/g, ' ')).toContain(`conditions ${line}`);
  expect(shown).toContain('fan-broken is Unknown (tell)');
  const explained = await s.run(['machine', 'explain', 'slot-1']);
  expect(explained.stdout.replaceAll(/\s+/g, ' ')).toContain(
    '; condition disk-failing (token:ann, leaves its pools): sda: 2 media errors; next:',
  );

  const filtered = await s.run(['machines', '--filter', 'condition:disk-failing', '-o', 'name']);
  expect(filtered.stdout).toBe(`${SLOT}\n`);
  expect((await s.run(['machines', '--filter', 'condition:fan-broken', '-o', 'name'])).stdout).toBe(
    '',
  );
  expect((await s.run(['machines'])).stdout).toContain('condition disk-failing');

  const cleared = await s.run([
    ...['machine', 'condition', 'clear', 'disk-failing', 'slot-1'],
    ...['--reason', 'new disk'],
  ]);
  expect(cleared.stdout).toBe(`${SLOT}: disk-failing is False (drain) by token:ann: new disk\n`);
  const listed = await s.run(['machine', 'condition', 'list', 'slot-1']);
  expect(listed.stdout.replaceAll(/ +/g, ' ')).toMatch(
    /^type status source since effect reason\ndisk-failing False token:ann .* drain new disk\nfan-broken Unknown token:ann .* tell not read\n$/,
  );
  await s.close();
});

test('a condition with --from says so until then, and has its effect from then on', async () => {
  const s = await open();
  const fromMs = s.clock.now() + 2 * 3_600_000;
  const from = `from ${new Date(fromMs).toISOString()} `;
  const args = ['maintenance-announced', 'slot-1', '--reason', 'new switch'];
  const { stdout, stderr } = await s.run(set(...args, '--from', '2h'));
  const line = (begin: string) =>
    `maintenance-announced is True ${begin}(drain) by token:ann: new switch`;
  expect([stdout, stderr]).toEqual([`${SLOT}: ${line(from)}\n`, '']);
  const said = async (...command: readonly string[]) =>
    (await s.run(['machine', ...command, 'slot-1'])).stdout.replaceAll(/\s+/g, ' ');
  const holds = async () =>
    (JSON.parse((await s.run(['machine', 'show', 'slot-1', '--json'])).stdout) as Shown).holds;
  expect(await said('condition', 'list')).toContain(`${from}drain new switch`);
  expect(await said('show')).toContain(line(from));
  expect(await said('explain')).toContain(
    `; condition maintenance-announced ${from}(token:ann): new switch; `,
  );
  await advance(s.clock, 2 * 3_600_000 - 1_000);
  expect(await holds()).toEqual([]);
  await advance(s.clock, 2_000);
  expect(await said('condition', 'list')).toMatch(/\d\dZ drain new switch/);
  expect(await said('show')).toContain(line(''));
  expect(await said('explain')).toContain(
    '; condition maintenance-announced (token:ann, leaves its',
  );
  expect(await holds()).toEqual(['no-allocate', 'no-serve']);

  const past = await s.run(set(...args, '--from', '2001-01-01'));
  expect(past.stdout).toBe(`${SLOT}: ${line('')}\n`);
  const refused = await s.run(set(...args, '--from', '2h', '--status', 'False'));
  expect([refused.code === 0, refused.stderr]).toEqual([
    false,
    expect.stringContaining('only a condition that is True may begin later'),
  ]);
  await s.close();
});

test('an all-clear with --for becomes unknown after that time', async () => {
  const s = await open();
  const args = ['--status', 'False', '--for', '2h', '--reason', 'checked'];
  await s.run(set('disk-failing', 'slot-1', ...args));
  const status = async () => {
    const { stdout } = await s.run(['machine', 'condition', 'list', 'slot-1', '--json']);
    return (JSON.parse(stdout) as { conditions: { status: string }[] }).conditions[0]!.status;
  };
  expect(await status()).toBe('False');
  await advance(s.clock, 2 * 3_600_000 + 1_000);
  expect(await status()).toBe('Unknown');
  await s.close();
});

test('the condition of another source is not cleared', async () => {
  const s = await open();
  const cleared = await s.run(['machine', 'condition', 'clear', 'disk-failing', 'slot-1']);
  expect(cleared.code).not.toBe(0);
  expect(cleared.stderr).toContain('only its source can clear a condition');
  await s.close();
});
