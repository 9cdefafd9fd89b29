import type { Command } from 'commander';
import { parse as shellWords } from 'shell-quote';
import { describe, expect, test } from 'vitest';
import { commandPages, manPage, wholeProgram } from '../../scripts/command-document.ts';
import { CHOOSING, GENERAL, helpTailOf, REQUEST } from '../../src/commands/help.ts';
import { testRows } from '../support/rows.ts';

const program = wholeProgram('1.2.3');
const names = commandPages(program).map(({ name }) => name);

const find = (from: Command, name: string): Command =>
  name.split(' ').reduce((at, word) => at.commands.find((each) => each.name() === word)!, from);

const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 });
  command.outputHelp();
  return text;
};

/** The command line after `shepherd` of an example; null: the line only explains the next one. */
function wordsOf(line: string): string[] | null {
  if (line.startsWith('#')) return null;
  const words = shellWords(line.replaceAll(/\$\(.*?\)|"\$\w+"/g, 'a'.repeat(64)), {}).map((word) =>
    typeof word === 'string' ? word : null,
  );
  const own = words.slice(words.indexOf('shepherd') + 1);
  return own.slice(0, own.includes(null) ? own.indexOf(null) : undefined) as string[];
}

/** The command that the program runs for a command line. */
async function chosenBy(args: readonly string[]): Promise<string[]> {
  const chosen: string[] = [];
  const fresh = wholeProgram('1.2.3');
  for (const name of names) {
    const command = find(fresh, name).exitOverride();
    command.action(() => void chosen.push(name));
  }
  await fresh.parseAsync([...args], { from: 'user' });
  return chosen;
}

testRows(names)('the help of "shepherd %s" describes it and shows an example', async (name) => {
  const command = find(program, name);
  expect(command.description()).toMatch(/^[A-Z].*[^.]$/);
  const { examples } = helpTailOf(command);
  const lines = examples
    .join('\n')
    .replaceAll('\\\n', '')
    .split('\n')
    .flatMap((line) => {
      const words = wordsOf(line);
      return words === null ? [] : [words];
    });
  expect(lines.length).toBeGreaterThan(0);
  for (const words of lines) expect(await chosenBy(words)).toEqual([name]);
});

testRows(names)('the help of "shepherd %s" lists general options last', (name) => {
  const text = helpOf(find(program, name));
  const places = ['Options:', CHOOSING, REQUEST, GENERAL].map((group) =>
    text.indexOf(`\n${group}`),
  );
  const found = places.filter((place) => place >= 0);
  expect(places.at(-1)).toBeGreaterThan(0);
  expect(found).toEqual(found.toSorted((one, other) => one - other));
  expect(text).not.toContain('(default: false)');
});

testRows(names)('options and arguments of "shepherd %s" are described in sentences', (name) => {
  const command = find(program, name);
  const told = [...command.options, ...command.registeredArguments].map((each) => each.description);
  for (const text of told) expect(text).toMatch(/^[A-Z"].*[^.]$/);
});

describe('the man page', () => {
  const page = manPage(program);

  test('has every command with its options and examples', () => {
    for (const { synopsis } of commandPages(program)) {
      expect(page).toContain(`.B ${synopsis.replaceAll('-', '\\-')}\n`);
    }
    expect(page).toContain('\nshepherd machine show rack/b4\\-07\n');
  });

  test('describes options that commands share once', () => {
    for (const option of ['--url <url>', '--dry-run', '--reason <text>', '--color <when>']) {
      const term = `\n.B ${option.replaceAll('-', '\\-')}\n`;
      expect(page.split(term).length - 1, option).toBe(
        option === '--url <url>' ? 4 : option === '--reason <text>' ? 4 : 1,
      );
    }
  });

  test('has no line that roff takes for a request of its own', () => {
    const requests = page.split('\n').filter((line) => /^[.']/.test(line));
    expect(requests.filter((line) => !/^\.(TH|SH|SS|TP|B|I|RS|RE|PP|nf|fi)\b/.test(line))).toEqual(
      [],
    );
    expect(page).toMatch(/^[ -~\n]*$/);
  });
});
