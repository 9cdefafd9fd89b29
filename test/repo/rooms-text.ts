import { COMPOSITION, PRETENDED_COMPOSITION, ROOMS } from './rooms.ts';
import type { LargeRoom, Room } from './rooms.ts';

/** A table of Markdown; the formatter aligns it. */
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

function importsOf({ may, note, packages }: Room): string {
  const ours = may.map(({ says }) => says).join(', ') || 'nothing of ours';
  const theirs = packages && (packages.join(', ') || 'no package');
  return [ours, note, theirs].filter((part) => part !== undefined).join('; ');
}

const HEAD = ['room', 'holds', 'may import'];

/** The table of rooms in docs/ARCHITECTURE.md. */
export function roomTable(): string {
  const rest = [...COMPOSITION, ...PRETENDED_COMPOSITION].map((each) => `\`${each}\``).join(', ');
  return table(HEAD, [
    ...ROOMS.map((room) => [
      `\`${room.path ?? `src/${room.name}/`}\``,
      room.holds,
      importsOf(room),
    ]),
    [
      'everything else',
      `${rest}: where adapters meet statecharts`,
      'everything; nothing imports `main.ts`, and of `src/` it alone imports `emulators/`',
    ],
  ]);
}

/** The table of the folders in a large room. */
export const innerRoomTable = ({ rooms }: LargeRoom): string =>
  table(
    HEAD,
    Object.entries(rooms).map(([name, { holds, may }]) => [
      `\`${name}/\``,
      holds,
      may.join(', ') || 'its base',
    ]),
  );

/** Other rooms that a room may import as a whole. */
const wholes = (name: string): string[] =>
  (ROOMS.find((room) => room.name === name)?.may ?? [])
    .filter(({ to, says }) => to === says && to !== name)
    .map(({ to }) => to);

const reaches = (from: string, to: string): boolean =>
  wholes(from).some((next) => next === to || reaches(next, to));

/** The drawing: an arrow that follows from two others is left out, a part of a room is dotted. */
export function roomDrawing(): string {
  const solid = ROOMS.map(({ name }) => {
    const all = wholes(name);
    return [name, all.filter((to) => !all.some((next) => reaches(next, to)))] as const;
  });
  const above = ROOMS.filter(
    ({ name, isProgram }) => !isProgram && !solid.some(([, to]) => to.includes(name)),
  );
  const line = ([from, to]: readonly [string, readonly string[]]) =>
    to.length === 0 ? [] : [`    ${from} --> ${to.join(' & ')}`];
  const dotted = ROOMS.flatMap(({ name, may }) =>
    may.flatMap(({ to, label }) => (label ? [`    ${name} -. "${label}" .-> ${to}`] : [])),
  );
  const main = ['main', above.map(({ name }) => name)] as const;
  const lines = ['flowchart LR', ...[main, ...solid].flatMap(line), ...dotted];
  return ['```mermaid', ...lines, '```'].join('\n');
}
