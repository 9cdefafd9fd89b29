import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectParts } from './generated-parts.ts';
import { innerRoomList, roomDrawing, roomList } from './rooms-text.ts';
import { ACTORS, COMPOSITION, PG, ROOMS } from './rooms.ts';
import { root } from './sources.ts';
import { testRows } from '../support/rows.ts';

/** Folders with a slash at their end, and files. */
const namesIn = (path: string) =>
  globSync('*', { cwd: join(root, path), withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );

test('counts every folder and file of src as a room, or as a place where rooms meet', () => {
  const rooms = ROOMS.filter(({ path }) => path === undefined).map(({ name }) => `${name}/`);
  const known = [...rooms, 'config.ts', ...COMPOSITION];
  expect(namesIn('src').toSorted()).toEqual(known.toSorted());
});

testRows([ACTORS, PG])('counts every folder of $path as a room of it', ({ path, rooms, base }) => {
  const names = namesIn(path);
  const folders = names.filter((name) => name.endsWith('/'));
  expect(folders.toSorted()).toEqual(
    Object.keys(rooms)
      .map((name) => `${name}/`)
      .toSorted(),
  );
  expect(names).toEqual(expect.arrayContaining(base.map((name) => `${name}.ts`)));
});

testRows([ACTORS, PG])('draws the arrows inside $path to its rooms, and in no circle', (large) => {
  const visit = (name: string, path: readonly string[]): void => {
    expect(path).not.toContain(name);
    expect(Object.keys(large.rooms)).toContain(name);
    for (const to of large.rooms[name]!.may) visit(to, [...path, name]);
  };
  for (const name of Object.keys(large.rooms)) visit(name, []);
});

test('writes the lists and the drawing of rooms in the architecture from the map', async () => {
  const drawn = `${roomList()}\n\n${roomDrawing()}`;
  await expectParts('docs/ARCHITECTURE.md', {
    rooms: drawn,
    'actor-rooms': innerRoomList(ACTORS),
    'pg-rooms': innerRoomList(PG),
  });
});

test('draws arrows to rooms, and in no circle', () => {
  const visit = (name: string, path: readonly string[]): void => {
    expect(path).not.toContain(name);
    const room = ROOMS.find((each) => each.name === name);
    expect(room, name).toBeDefined();
    for (const { to, says } of room!.may) if (says === to) visit(to, [...path, name]);
  };
  for (const { name } of ROOMS) visit(name, []);
});
