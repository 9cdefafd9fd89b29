import type { InMemoryFs } from 'just-bash';

/** The command lines of a systemd unit that starts with the machine, before SSH answers. */
export type Unit = readonly string[];

const UNITS = '/etc/systemd/system';
/** Directory of files that add units to the boot. */
const ADDED = `${UNITS}/multi-user.target.d`;

const valuesOf = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value.trim());

/** Units that a file beside the target wants. */
export async function wantedUnits(files: InMemoryFs): Promise<Unit[]> {
  const added = (await files.exists(ADDED)) ? await files.readdir(ADDED) : [];
  const texts = await Promise.all(added.map((name) => files.readFile(`${ADDED}/${name}`)));
  const units = await Promise.all(
    texts.flatMap((text) => valuesOf(text, 'Wants')).map((name) => readUnit(files, name)),
  );
  return units.filter((unit) => unit !== null);
}

async function readUnit(files: InMemoryFs, name: string): Promise<Unit | null> {
  const text = await files.readFile(`${UNITS}/${name}`);
  const needed = valuesOf(text, 'ConditionPathExists');
  const areThere = await Promise.all(needed.map((path) => files.exists(path)));
  if (areThere.includes(false)) return null;
  return ['ExecStart', 'ExecStartPost'].flatMap((step) => valuesOf(text, step));
}

/** The first script that the units run, by its file. */
export async function scriptOf(files: InMemoryFs, units: readonly Unit[]): Promise<string | null> {
  const words = units
    .flatMap((lines) => lines.flatMap((line) => line.split(/\s+/)))
    .filter((word) => word.startsWith('/') && !word.startsWith('/bin/'));
  for (const word of words) {
    const text = (await files.exists(word)) ? await files.readFile(word) : '';
    if (text.startsWith('#!')) return text;
  }
  return null;
}
