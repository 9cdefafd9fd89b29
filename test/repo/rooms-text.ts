import { COMPOSITION, PRETENDED_COMPOSITION, ROOMS } from './rooms.ts';
import type { LargeRoom } from './rooms.ts';

/** The list of rooms in docs/ARCHITECTURE.md. */
export function roomList(): string {
  const rest = [...COMPOSITION, ...PRETENDED_COMPOSITION].map((each) => `\`${each}\``).join(', ');
  return [
    ...ROOMS.map(({ name, path, holds }) => `- \`${path ?? `src/${name}/`}\`: ${holds}`),
    `- ${rest}: connect adapters and statecharts, and may import everything; nothing imports \`main.ts\``,
  ].join('\n');
}

/** The list of folders in a large room, with the neighbours that each may import. */
export const innerRoomList = ({ rooms }: LargeRoom): string =>
  Object.entries(rooms)
    .map(([name, { holds, may }]) => {
      const arrows = may.length > 0 ? ` (imports ${may.join(', ')})` : '';
      return `- \`${name}/\`: ${holds}${arrows}`;
    })
    .join('\n');

/** Other rooms that a room may import as a whole. */
const wholes = (name: string): string[] =>
  (ROOMS.find((room) => room.name === name)?.may ?? [])
    .filter(({ to, says }) => to === says && to !== name)
    .map(({ to }) => to);

const reaches = (from: string, to: string): boolean =>
  wholes(from).some((next) => next === to || reaches(next, to));

/** The drawing: an arrow implied by two others is left out, a part of a room is dotted. */
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
