import { CommanderError, type Command } from 'commander';
import { parse as parseShell } from 'shell-quote';
import { parse as parseYaml } from 'yaml';
import { wholeProgram } from '../../scripts/command-document.ts';
import { configSchema } from '../../src/config.ts';
import { faultsOf, nameOfPath } from '../../src/config/faults.ts';
import { isEventType } from '../../src/domain/events/fleet-event.ts';
import { describeConfig } from '../config/describe.ts';
import { lineOf, type Source } from './sources.ts';

/** A piece of code in a document. */
interface Snippet {
  readonly text: string;
  readonly line: number;
  readonly isInline: boolean;
}

const FENCE = /^( *)```(\w*)[^\n]*\n([^]*?)^ *```$/gm;

/** The fenced blocks in these languages. */
function fenced({ text }: Source, ...languages: string[]): Snippet[] {
  return [...text.matchAll(FENCE)]
    .filter(([, , language]) => languages.includes(language!))
    .map(({ 1: indent = '', 3: block = '', index }) => ({
      text: block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: lineOf(text, index) + 1,
      isInline: false,
    }));
}

/** The code inside sentences. Fenced blocks become empty lines, so that lines keep their numbers. */
function inline({ text }: Source): Snippet[] {
  const prose = text.replaceAll(FENCE, (block) => block.replaceAll(/[^\n]/g, ''));
  return [...prose.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(({ 1: code = '', index }) => ({
    text: code.replaceAll(/\s+/g, ' '),
    line: lineOf(prose, index),
    isInline: true,
  }));
}

/** A part that the reader fills in: `<file>`, `FILE`, `…`, `$(command)`. */
const FILLED_IN = 'VALUE';
const isFilledIn = (word: string): boolean => /^[A-Z][A-Z_]*$|…/.test(word);
const PREFIXES = new Set(['exec', 'npx', 'time', 'if', '!', 'while', 'until', 'then', 'do']);
const BIN = /^(?:shepherd|.*\/shepherd|\.\/shepherd-.*\.tgz)$/;

/** The words after `shepherd` in each command of a shell line. */
function calledIn(line: string): string[][] {
  const inner: string[] = [];
  const outer = line.replaceAll(/\$\(([^()]*)\)/g, (_, command: string) => {
    inner.push(command);
    return FILLED_IN;
  });
  const plain = outer
    .replaceAll(/<[\w .:/|-]+>|(?<=[ '])…(?=['] |$)/gm, FILLED_IN)
    .replaceAll(/\\$/gm, '');
  const commands: string[][] = [[]];
  let isTarget = false;
  for (const token of parseShell(plain, () => FILLED_IN)) {
    const word = typeof token === 'string' ? token : 'pattern' in token ? token.pattern : undefined;
    if (word !== undefined && !isTarget) commands.at(-1)!.push(word);
    isTarget = false;
    if (typeof token === 'string' || 'pattern' in token || 'comment' in token) continue;
    if (/[<>]/.test(token.op)) {
      isTarget = true;
      if (/^\d$/.test(commands.at(-1)!.at(-1) ?? '')) commands.at(-1)!.pop();
    } else commands.push([]);
  }
  return [
    ...commands.map(behindShepherd).filter((words) => words !== null),
    ...inner.flatMap(calledIn),
  ];
}

function behindShepherd(words: readonly string[]): string[] | null {
  const rest = [...words];
  while (rest.length > 0 && (PREFIXES.has(rest[0]!) || /^\w+=/.test(rest[0]!))) rest.shift();
  if (rest[0] === 'sudo') rest.splice(0, rest[1] === '-u' ? 3 : 1);
  if (rest[0] === 'node' && rest[1]?.endsWith('bin/shepherd.mjs')) rest.shift();
  else if (!BIN.test(rest[0] ?? '')) return null;
  return rest.slice(1);
}

/** `db migrate|status` means both. Text in brackets is optional. */
function alternatives(command: string): string[] {
  const short = command.replaceAll(/ ?\[[^\]]*\]/g, '');
  const [all, words] = /(?<=^| )([\w-]+(?:\|[\w-]+)+)(?= |$)/.exec(short) ?? [];
  if (all === undefined) return [short];
  return words!.split('|').flatMap((word) => alternatives(short.replace(all, word)));
}

/** The program, which parses and does nothing. */
function parsingProgram(): Command {
  const silence = (command: Command): Command => {
    command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
    if (command.commands.length === 0) command.action(() => {});
    command.commands.forEach(silence);
    return command;
  };
  return silence(wholeProgram('0.0.0'));
}
const program = parsingProgram();

/** The arguments after the words that name a command. */
function argumentsOf(words: readonly string[], command = program): readonly string[] {
  const next = command.commands.find(
    (each) => each.name() === words[0] || each.aliases().includes(words[0]!),
  );
  return next ? argumentsOf(words.slice(1), next) : words;
}

/** The program's objection to this command line; null if it would start. */
function refusalOf(words: readonly string[], isInline: boolean): string | null {
  const known = words.map((word) => (word === '…' ? FILLED_IN : word));
  const rest = argumentsOf(known);
  // A sentence may name a command alone. With an option or argument it is a command line that must run.
  if (isInline && rest.every(isFilledIn)) return null;
  try {
    program.parse(known, { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError))
      return error instanceof Error ? error.message : String(error);
    if (error.code === 'commander.help') return 'lacks a command';
    if (/^commander\.(?:helpDisplayed|version)$/.test(error.code)) return null;
    const isOnlyFilledIn = error.code === 'commander.invalidArgument' && known.some(isFilledIn);
    return isOnlyFilledIn ? null : error.message;
  }
}

/** Command lines that the program would refuse, with their place and the reason. */
export function refusedCommands(page: Source): string[] {
  const blocks = fenced(page, 'sh', 'bash', 'shell').flatMap(({ text, line }) =>
    linesOf(text).map((each) => ({ text: each.text, line: line + each.at, isInline: false })),
  );
  const named = inline(page).filter(({ text }) => /^(?:npx )?shepherd /.test(text));
  return [...blocks, ...named].flatMap(({ text, line, isInline }) =>
    (isInline ? alternatives(text) : [text]).flatMap(calledIn).flatMap((words) => {
      const refusal = refusalOf(words, isInline);
      return refusal === null
        ? []
        : [`${page.path}:${line}: shepherd ${words.join(' ')}: ${refusal}`];
    }),
  );
}

/** Logical lines: a backslash at the end continues one. */
function linesOf(block: string): { text: string; at: number }[] {
  const found: { text: string; at: number }[] = [];
  let isContinued = false;
  for (const [at, line] of block.split('\n').entries()) {
    if (isContinued) found.at(-1)!.text += ` ${line.trim()}`;
    else found.push({ text: line.replace(/^\$ /, ''), at });
    isContinued = line.endsWith('\\');
    if (isContinued) found.at(-1)!.text = found.at(-1)!.text.slice(0, -1);
  }
  return found;
}

/** Scripts of package.json that a document names. */
export function npmScripts({ path, text }: Source): { place: string; script: string }[] {
  return [...text.matchAll(/\bnpm run (?:-s |--silent )?([a-z][\w:-]*)/g)].map(
    ({ 1: script, index }) => ({ place: `${path}:${lineOf(text, index)}`, script: script! }),
  );
}

const schema = configSchema({
  env: new Proxy<NodeJS.ProcessEnv>({}, { get: () => 'x', has: () => true }),
  ...{ baseDirectory: '/', checkFiles: false },
});
const keys = new Set(describeConfig().map(({ path }) => path));
const sections = new Set([...keys].map((path) => path.split('.')[0]!));

/** Files and hosts. */
const OTHER_NAMES = /\.(?:ts|json|md|mmd|sql|sock|net|com|org)$/;
/** Configurations of other programs begin with one of their own keys. */
const OTHERS = /^(?:apiVersion|kind|groups|scrape_configs|route|receivers|services|resources|- )/m;

/**
 * The schema's objections to the configuration blocks of a document. A block may be a part: a
 * missing required key is no mistake, and a value may be left to the reader.
 */
export function refusedSettings(page: Source): string[] {
  const blocks = fenced(page, 'yaml', 'yml').filter(({ text }) => !OTHERS.test(text));
  const broken = blocks.flatMap(({ text, line }) => {
    const value: unknown = parseYaml(text);
    const result = schema.safeParse(value);
    const faults = result.success ? [] : faultsOf(result.error, schema, value);
    return faults
      .filter(
        ({ path, message }) =>
          message.startsWith('is unknown') || (isWritten(value, path) && !isToy(value, path)),
      )
      .map(({ path, message }) => `${page.path}:${line}: ${nameOfPath(path)} ${message}`);
  });
  const unknown = inline(page)
    .filter(({ text }) => /^[a-z]\w*(?:\.(?:[a-z]\w*|<\w+>))+$/.test(text))
    .filter(({ text }) => sections.has(text.split('.')[0]!) && !OTHER_NAMES.test(text))
    .filter(({ text }) => !isKey(text) && !isEventType(text))
    .map(({ text, line }) => `${page.path}:${line}: ${text} is no key of the configuration`);
  return [...broken, ...unknown];
}

/** Whether the document itself writes the value at this path, or leaves it to the reader. */
function isWritten(value: unknown, path: readonly PropertyKey[]): boolean {
  const [key, ...rest] = path;
  if (key === undefined)
    return !/FIX(?:ME)|YOUR-OWN|…|(?:file|credential):|\$\{/.test(String(value));
  if (typeof value !== 'object' || value === null || !(key in value)) return false;
  return isWritten((value as Record<PropertyKey, unknown>)[key], rest);
}

/** The driver that a reader of `docs/writing-a-provider.md` adds. */
const isToy = (value: unknown, path: readonly PropertyKey[]): boolean =>
  path.at(-1) === 'driver' && JSON.stringify(value).includes('"driver":"toy"');

/** A key, a section of keys, or a key below a name of the reader's choice. */
function isKey(text: string): boolean {
  const wanted = text.split('.');
  return [...keys].some((key) => {
    const parts = key.split('.');
    return wanted.every((part, at) => parts[at] === part || /^<.*>$/.test(parts[at] ?? ''));
  });
}
