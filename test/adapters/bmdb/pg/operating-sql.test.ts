import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { providedOf } from '../../../contracts/bmdb-rows.ts';
import { askToGiveBack } from '../../../contracts/requests-of.ts';
import { claimStand, refusedWith } from './claim-stand.ts';

const s = claimStand(4_000);

/** The commands for operators that give a machine back, in the order of the page. */
function statementsOf(): string[] {
  const page = readFileSync(new URL('../../../../docs/operating.md', import.meta.url), 'utf8');
  const section = page.split('\n## ').find((each) => each.startsWith('Giving machines back'));
  const blocks = [...section!.matchAll(/```sql\n(.*?)```/gs)].map((match) => match[1]!);
  return blocks.flatMap((block) => block.split(/;\n/)).filter((sql) => sql.trim() !== '');
}

it('works as the page on giving machines back says, with the daemons’ role', async () => {
  const id = await s.add({ provided: providedOf('1') });
  const told = statementsOf();
  expect(told).toHaveLength(2);
  const [progress, withdraw] = told;
  const run = async (sql: string) => {
    const role = await s.begin();
    const { rows } = (await role.query(sql)) as { rows: Record<string, unknown>[] };
    await role.commit();
    return rows;
  };

  await askToGiveBack(s.bmdb, s.session, id, { reason: 'end of the contract' });
  const work = await s.session.claim('ShepherdDeprovision', id);
  await work.note({ kind: 'deprovisionAsked' });
  expect(await run(progress!)).toMatchObject([{ machine_id: id, attempts: '1' }]);

  await run(withdraw!);
  expect(await refusedWith(work.note({ kind: 'deprovisionAsked' }))).toBe('nothing-to-do');
  expect((await s.row(id)).deprovision).toBeNull();
});
