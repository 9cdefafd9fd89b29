/**
 * Writes the man page shepherd(1), made from the commands and their help texts:
 * `node scripts/command-document.ts FILE`. The reference in `docs/cli.md` is made here, too; a test in
 * `test/repo` keeps it fresh.
 */
import { writeFileSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import { addEmulators } from '../emulators/commands/program.ts';
import { CHOOSING, GENERAL, helpTailOf, REQUEST } from '../src/commands/help.ts';
import { createProgram, EXIT_STATUS } from '../src/commands/program.ts';
import { MACHINE } from '../src/commands/remote/ask-flags.ts';
import { programVersion } from '../src/commands/version.ts';

/** The program with all its commands, as `main.ts` composes it. */
export function wholeProgram(version = programVersion()): Command {
  const program = createProgram(version);
  addEmulators(program, version);
  return program;
}

export interface CommandPage {
  /** Without `shepherd`, such as `machine show`. */
  readonly name: string;
  readonly group: string;
  readonly description: string;
  readonly synopsis: string;
  readonly args: readonly Line[];
  /** Options of this command alone. */
  readonly own: readonly Line[];
  /** Names of the groups of options that this command shares with others. */
  readonly shared: readonly string[];
  readonly notes: string;
  readonly examples: readonly string[];
}
type Line = readonly [term: string, description: string];

const SHARED = [CHOOSING, REQUEST, GENERAL];
/** Below these headings a page describes the shared options once. */
export const SHARED_TITLES: Readonly<Record<string, string>> = Object.fromEntries(
  SHARED.map((group) => [group, group.slice(0, -1)]),
);

const visible = ({ commands }: Command): Command[] =>
  commands.filter((each) => !(each as unknown as { _hidden: boolean })._hidden);

/** Every command that does something, in the order of the help text. */
export function commandPages(program: Command): CommandPage[] {
  const pagesBelow = (command: Command, names: readonly string[], group: string): CommandPage[] => {
    const below = visible(command);
    return below.length === 0
      ? [pageOf(command, names.join(' '), group)]
      : below.flatMap((each) => pagesBelow(each, [...names, each.name()], group));
  };
  return visible(program).flatMap((each) =>
    pagesBelow(each, [each.name()], each.helpGroup().slice(0, -1)),
  );
}

function pageOf(command: Command, name: string, group: string): CommandPage {
  const help = command.createHelp();
  const options = command.options.filter(({ hidden }) => !hidden);
  const ofGroup = (heading: string) => options.filter(({ helpGroupHeading: at }) => at === heading);
  // A command without a console has few of the general options: they count as its own.
  const isRemote = ofGroup(GENERAL).some(({ long }) => long === '--context');
  const shared = SHARED.filter(
    (heading) => ofGroup(heading).length > 0 && (heading !== GENERAL || isRemote),
  );
  const own = options.filter(
    ({ helpGroupHeading: at }) => at === undefined || !shared.includes(at),
  );
  // The names of a machine are described once for all commands.
  const args = help.visibleArguments(command).filter(({ description }) => description !== MACHINE);
  return {
    ...{ name, group, shared },
    description: command.description(),
    synopsis: [
      `shepherd ${name}`,
      ...command.registeredArguments.map(argumentTerm),
      ...own.filter(({ mandatory }) => mandatory).map(({ flags }) => flags),
      ...(own.some(({ mandatory }) => !mandatory) || shared.length > 0 ? ['[options]'] : []),
    ].join(' '),
    args: args.map((each) => [argumentTerm(each), help.argumentDescription(each)]),
    own: own.map((each): Line => [each.flags, help.optionDescription(each)]),
    ...helpTailOf(command),
  };
}

const argumentTerm = (argument: Argument): string => {
  const name = `${argument.name().toUpperCase()}${argument.variadic ? '...' : ''}`;
  return argument.required ? name : `[${name}]`;
};

/** The options of a shared group, each once. */
export function sharedOptions(program: Command, heading: string): Line[] {
  const help = program.createHelp();
  const found = new Map<string, Option>();
  const visit = (command: Command): void => {
    const isRemote = command.options.some(({ long }) => long === '--context');
    for (const option of command.options) {
      const isHere = option.helpGroupHeading === heading && (heading !== GENERAL || isRemote);
      if (isHere && !found.has(option.flags)) found.set(option.flags, option);
    }
    command.commands.forEach(visit);
  };
  visit(program);
  return [...found.values()].map((each) => [each.flags, help.optionDescription(each)]);
}

/** The parts of `docs/cli.md` that are made from the program, in Markdown. */
export function documentParts(program: Command): Readonly<Record<string, string>> {
  const pages = commandPages(program);
  const groups = [...new Set(pages.map(({ group }) => group))].map(
    (group) => [group, pages.filter((page) => page.group === group)] as const,
  );
  const names = groups.map(([group, own]) => [group, linksTo(own)]);
  return {
    groups: ['| group | commands |', '| --- | --- |', ...names.map(row)].join('\n'),
    options: SHARED.map(
      (heading) =>
        `**${SHARED_TITLES[heading]}**\n\n${fenced(aligned(sharedOptions(program, heading)))}`,
    ).join('\n\n'),
    'exit-status': ['| code | meaning |', '| --- | --- |', ...EXIT_STATUS.map(row)].join('\n'),
    commands: groups
      .flatMap(([group, own]) => [`## ${group}`, ...own.map(markdownOf)])
      .join('\n\n'),
  };
}

/** `machine show, explain, …`: each family of commands names its first word once. */
function linksTo(pages: readonly CommandPage[]): string {
  const families = Map.groupBy(pages, ({ name }) => name.split(' ')[0]!);
  const link = ({ name }: CommandPage) =>
    `[${name.split(' ').slice(1).join(' ') || name}](#${name.replaceAll(' ', '-')})`;
  return [...families]
    .map(([first, own]) => {
      const links = own.map(link).join(', ');
      return own[0]!.name === first ? links : `${first} ${links}`;
    })
    .join('; ');
}

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** What a command does, its usage with its own options, and its first example. */
function markdownOf({ name, description, synopsis, own, examples }: CommandPage): string {
  const optional = own
    .filter(([flags]) => !synopsis.includes(flags))
    .map(([flags]) => `[${flags}]`);
  const usage = [synopsis.replace(' [options]', ''), ...optional].join(' ');
  const from = examples.findIndex((line) => !line.startsWith('#'));
  const until = examples.findIndex((line, at) => at >= from && !line.endsWith('\\'));
  const example = examples.slice(from, until + 1);
  // Without arguments and options the example is complete.
  const shown = usage === `shepherd ${name}` ? example : [usage, '', ...example];
  return [`### ${name}`, `${description}.`, fenced(shown)].join('\n\n');
}

const fenced = (lines: readonly string[]): string => ['```text', ...lines, '```'].join('\n');

/** Two columns. */
function aligned(lines: readonly Line[]): string[] {
  const width = Math.max(...lines.map(([term]) => term.length)) + 2;
  return lines.map(([term, text]) => `  ${term.padEnd(width)}${text}`);
}

const ENVIRONMENT: readonly Line[] = [
  ['SHEPHERD_URL', 'Address of the console, unless --url or --context is given.'],
  ['SHEPHERD_TOKEN', 'Token for the console of --url or SHEPHERD_URL.'],
  ['SHEPHERD_CONFIG', 'Configuration file, instead of --config.'],
  ['NO_COLOR, FORCE_COLOR', 'Switch colours off or on.'],
  ['COLUMNS', 'Width of the output.'],
  ['PAGER', 'Pager of long texts on a terminal.'],
];

const FILES: readonly Line[] = [
  [
    '$XDG_CONFIG_HOME/shepherd/contexts.yaml',
    'Contexts and their tokens. Only its owner may read it.',
  ],
  ['/etc/shepherd/shepherd.yaml', 'Configuration of the daemon, by convention.'],
];

/** The manual page in roff. It has no date, so that the same program gives the same page. */
export function manPage(program: Command): string {
  const pages = commandPages(program);
  const groups = [...new Set(pages.map(({ group }) => group))];
  return [
    `.TH SHEPHERD 1 "" "shepherd ${program.version()}" "Shepherd"`,
    section('NAME', ['shepherd \\- keep a fleet of physical machines alive']),
    section('SYNOPSIS', ['.B shepherd', '.I COMMAND', '[options]']),
    section('DESCRIPTION', [
      roff(
        'The daemon (shepherd run) turns reserved hardware into running machines, notices machines that ' +
          'die, and brings them back. The other commands ask the console of a daemon, unless they say ' +
          'otherwise. Each command shows its options and examples with --help.',
      ),
    ]),
    section(
      'COMMANDS',
      groups.flatMap((group) => [
        `.SS ${roff(group)}`,
        ...pages.filter((page) => page.group === group).flatMap(manOf),
      ]),
    ),
    section('NAMES OF MACHINES', ['.TP', '.B MACHINE', roff(MACHINE)]),
    ...SHARED.map((heading) =>
      section(
        SHARED_TITLES[heading]!.toUpperCase(),
        sharedOptions(program, heading).flatMap(tagged),
      ),
    ),
    section('EXIT STATUS', EXIT_STATUS.flatMap(tagged)),
    section('ENVIRONMENT', ENVIRONMENT.flatMap(tagged)),
    section('FILES', FILES.flatMap(tagged)),
    '',
  ].join('\n');
}

const section = (title: string, lines: readonly string[]): string =>
  [`.SH ${title}`, ...lines].join('\n');

const tagged = ([term, text]: Line): string[] => ['.TP', `.B ${roff(term)}`, roff(text)];

function manOf({ synopsis, description, args, own, notes, examples }: CommandPage): string[] {
  const inner = [...args, ...own].flatMap(tagged);
  return [
    '.TP',
    `.B ${roff(synopsis)}`,
    `${roff(description)}.`,
    '.RS',
    ...inner,
    ...(notes === '' ? [] : ['.PP', ...verbatim(notes.split('\n'))]),
    '.PP',
    ...verbatim(examples),
    '.RE',
  ];
}

const verbatim = (lines: readonly string[]): string[] => ['.nf', ...lines.map(roff), '.fi'];

/**
 * Escapes text for roff, where a backslash, a dash and a line's first dot or quote have a meaning.
 */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&')
    .replaceAll(
      /[^ -~]/g,
      (other) => `\\[u${other.codePointAt(0)!.toString(16).padStart(4, '0').toUpperCase()}]`,
    );

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) {
    console.error('usage: node scripts/command-document.ts FILE');
    process.exitCode = 2;
  } else writeFileSync(file, manPage(wholeProgram()));
}
