import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

/** A command's output and exit code. */
interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface Scenes<Stand> {
  /** What each scene starts with. */
  open(): Promise<Stand>;
  close?(stand: Stand): Promise<void>;
  run(stand: Stand, words: readonly string[], line: string): Promise<Ended | string>;
  /** Other steps of a scene, by name; a returned text is part of the scene. */
  readonly steps?: Readonly<Record<string, (stand: Stand, about: string) => unknown>>;
  /** Removes from a text what differs from run to run. */
  plain?(stand: Stand, text: string): string;
}

/**
 * Replays a file of scenes, and compares the output with the file. A scene starts with `== title`.
 * `* step: about` does a step, and `$ words` runs a command line. `& words` only starts a command
 * line, and `* the end of it` waits for its end. All other lines are output. To change a scene,
 * change those lines and run the test with `-u`.
 */
export async function playScenes<Stand>(
  directory: string,
  name: string,
  { open, close, run, steps = {}, plain = (_, text) => text }: Scenes<Stand>,
): Promise<void> {
  const file = join(directory, `golden/${name}.txt`);
  const told: string[] = [];
  let stand: Stand | null = null;
  let begun: Promise<Ended | string> | null = null;
  const leave = async () => {
    if (begun !== null) throw new Error('nobody waits for the end of what was begun');
    if (stand !== null) await close?.(stand);
  };
  const tell = async (line: string, ended: Promise<Ended | string>) => {
    const end = await ended;
    const said = plain(stand!, typeof end === 'string' ? end : end.stdout + end.stderr).trimEnd();
    expect(said.replaceAll('\n', ''), line).not.toMatch(/\p{Cc}/u);
    if (said !== '') told.push(indented(said));
    if (typeof end !== 'string') told.push(`    (${end.code})`);
  };
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, mark, text = ''] = /^(==|[#*$&]) (.*)$/.exec(line) ?? [];
    if (mark === undefined) continue;
    if (mark === '==') {
      await leave();
      stand = await open();
    }
    told.push(mark === '==' && told.length > 0 ? `\n${line}` : line);
    if (mark === '*' && text === 'the end of it') {
      await tell(line, begun!);
      begun = null;
    } else if (mark === '*') {
      const [, step = '', about = ''] = /^(.*?)(?:: (.*))?$/.exec(text)!;
      if (steps[step] === undefined) throw new Error(`no step is called "${step}"`);
      const said = await steps[step](stand!, about);
      if (typeof said === 'string') told.push(indented(said || 'nothing'));
    }
    if (mark === '$') await tell(line, run(stand!, wordsIn(text), text));
    if (mark === '&') begun = run(stand!, wordsIn(text), text);
  }
  await leave();
  await expect(`${told.join('\n')}\n`).toMatchFileSnapshot(file);
}

const indented = (text: string): string =>
  text.replaceAll(/^(?=.)/gm, '    ').replaceAll(/ +$/gm, '');

/** The words of a command line, some of them quoted. */
const wordsIn = (text: string): string[] =>
  [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, one?: string, other?: string) => one ?? other!),
  );
