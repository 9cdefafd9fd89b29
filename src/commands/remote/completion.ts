import type { Command, Option } from 'commander';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { withTimeLimit } from '../../adapters/clock/port.ts';
import { FleetError } from '../../domain/errors.ts';
import { STATES } from '../../domain/states.ts';
import { programVersion } from '../version.ts';
import type { Fleet, MachinePage } from './answers.ts';
import { createClient, type Client } from './client.ts';
import { openTransport, readContexts } from './contexts.ts';

/** Names of this fleet that a shell may offer. */
interface Names {
  readonly machines: readonly string[];
  readonly providers: readonly string[];
  readonly locations: readonly string[];
  readonly contexts: readonly string[];
}
type NameKind = keyof Names;

const NONE: Names = { machines: [], providers: [], locations: [], contexts: [] };

/** Limit for an answer after Tab. Later answers are left out. */
const PATIENCE_MS = 250;
const MACHINES_MAX = 100;

/**
 * Names come from providers and from the console. A shell could run other names, or take them for options, so
 * they are not offered. Names with `@` are not offered because bash looks for hosts there.
 */
const SAFE_NAME = /^\w[\w.:+/-]*$/;

/** The kind of name that an option takes. */
const OF_OPTIONS: Readonly<Record<string, NameKind>> = {
  '--slots': 'machines',
  '--provider': 'providers',
  '--location': 'locations',
  '--context': 'contexts',
};
const OF_ARGUMENTS: Readonly<Record<string, NameKind>> = {
  machine: 'machines',
  provider: 'providers',
  context: 'contexts',
};

/** The scripts evaluate neither typed nor offered words: they only compare them and pass them on. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# bash completion for shepherd
_shepherd_complete() {
    local line=\${COMP_LINE:0:COMP_POINT} offer
    local -a words
    IFS=$' \\t\\n' read -r -d '' -a words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    local word=\${words[\${#words[@]}-1]}
    # Readline replaces only what follows the last = or :.
    local head=\${word%"\${word##*[=:]}"}
    COMPREPLY=()
    while IFS=$'\\t' read -r offer _; do
        [[ $offer == "$word"* ]] && COMPREPLY+=("\${offer#"$head"}")
    done < <(shepherd complete -- "\${words[@]:1}" 2>/dev/null)
}
complete -F _shepherd_complete shepherd
`,
  zsh: `#compdef shepherd
_shepherd() {
    local -a offers
    local offer about
    while IFS=$'\\t' read -r offer about; do
        offers+=("\${offer//:/\\\\:}:$about")
    done < <(shepherd complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
    _describe shepherd offers
}
if [[ \${funcstack[1]} == _shepherd ]]; then _shepherd; else compdef _shepherd shepherd; fi
`,
  fish: `# fish completion for shepherd
function __shepherd_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    shepherd complete -- $words[2..-1] "$word" 2>/dev/null
end
complete -c shepherd -e
complete -c shepherd -f -a '(__shepherd_complete)'
`,
};

/** `shepherd completion SHELL`: prints the script by which a shell asks this program. */
export function printCompletion(shell: string): void {
  process.stdout.write(SCRIPTS[shell]!);
}

/** A completion of a word, and its explanation. */
type Offer = readonly [value: string, about: string];

/**
 * `shepherd complete -- WORD…`, which the shell's script calls: prints completions of the last word, one per
 * line. If no console answers in time, then names of the fleet are left out.
 */
export async function complete(cli: Command, words: readonly string[]): Promise<void> {
  const last = words.at(-1) ?? '';
  const { offers, kind, head = '' } = wantedAt(cli, words);
  const word = last.slice(head.length);
  const names = kind ? (await namesOf(kind, words, word))[kind] : [];
  const safe = names.filter((name) => SAFE_NAME.test(name.slice(name.lastIndexOf(',') + 1)));
  for (const [value, about] of [...offers, ...safe.map((name): Offer => [name, ''])]) {
    if (value.startsWith(word)) process.stdout.write(`${head}${value}\t${about}\n`);
  }
}

interface CompletionWord {
  readonly offers: readonly Offer[];
  /** Kind of fleet name that fits here. */
  readonly kind?: NameKind | undefined;
  /** The part of the same word before it: `--option=`. */
  readonly head?: string;
}

/** What the last word is, by the words before it. */
function wantedAt(cli: Command, words: readonly string[]): CompletionWord {
  const [last = ''] = words.slice(-1);
  const path = [cli];
  let position = 0;
  let valued: Option | undefined;
  for (const word of words.slice(0, -1)) {
    const command = path.at(-1)!;
    const inner = command.commands.find((each) => each.name() === word);
    if (word.startsWith('-')) valued = valuedOption(path, word);
    else if (valued) valued = undefined;
    else if (inner && position === 0) path.push(inner);
    else position++;
  }
  const [head = ''] = /^--[\w-]+=/.exec(last) ?? [];
  if (head !== '') valued = valuedOption(path, head.slice(0, -1));
  if (valued && (head !== '' || !last.startsWith('-'))) return { ...valuesOf(valued), head };
  const command = path.at(-1)!;
  const help = cli.createHelp();
  if (last.startsWith('-')) {
    const options = help.visibleOptions(command);
    return { offers: options.map((each) => [each.long ?? each.short ?? '', each.description]) };
  }
  const verbs = position > 0 ? [] : help.visibleCommands(command);
  const argument =
    command.registeredArguments[position] ??
    command.registeredArguments.filter(({ variadic }) => variadic).at(-1);
  const choices = argument?.argChoices?.map((choice): Offer => [choice, '']) ?? [];
  const isContext = path[1]?.name() === 'context' && argument?.name() === 'name';
  const kind = isContext ? 'contexts' : OF_ARGUMENTS[argument?.name() ?? ''];
  const offers = verbs.map((each): Offer => [each.name(), each.description()]);
  return { offers: [...offers, ...choices], kind };
}

/** The option of this name, if a value follows it. */
const valuedOption = (path: readonly Command[], name: string): Option | undefined =>
  path
    .flatMap(({ options }) => options)
    .find((each) => (each.long === name || each.short === name) && !each.isBoolean());

function valuesOf({ long, flags, argChoices = [] }: Option): CompletionWord {
  const values =
    long === '--state'
      ? STATES
      : flags === '--for <what>'
        ? STATES.map((state) => `state=${state}`)
        : argChoices;
  return { offers: values.map((value) => [value, '']), kind: OF_OPTIONS[long ?? ''] };
}

async function namesOf(kind: NameKind, words: readonly string[], word: string): Promise<Names> {
  try {
    if (kind === 'contexts') return { ...NONE, contexts: Object.keys(readContexts().contexts) };
    const flagged = (name: string) => {
      const at = words.indexOf(name);
      return at < 0 ? undefined : words[at + 1];
    };
    const [url, context] = [flagged('--url'), flagged('--context')];
    const flags = { ...(url !== undefined && { url }), ...(context !== undefined && { context }) };
    const transport = openTransport(flags, { version: programVersion(), isSilent: true });
    return await withTimeLimit(systemClock, { ms: PATIENCE_MS }, (signal) =>
      ask(createClient(transport, signal), kind, word),
    );
  } catch (error) {
    // A completing shell cannot show an error.
    if (error instanceof FleetError || (error as Error).name === 'AbortError') return NONE;
    throw error;
  }
}

async function ask(client: Client, kind: NameKind, word: string): Promise<Names> {
  if (kind !== 'machines') {
    const { providers, cells } = await client.get<Fleet>('/fleet');
    const locations = [...new Set(cells.flatMap(({ location }) => location ?? []))];
    return { ...NONE, providers, locations };
  }
  const begun = word.split(',').at(-1)!;
  const filter = /^[\w./-]+$/.test(begun) ? begun : '';
  const page = await client.get<MachinePage>('/machines', { filter, limit: MACHINES_MAX });
  const machines = page.machines.flatMap(({ slot, machineId }) => [
    slot,
    ...[slot.slice(slot.indexOf('/') + 1), machineId].filter(
      (id) => id !== null && begun.length >= 4 && id.startsWith(begun),
    ),
  ]) as string[];
  const head = word.slice(0, word.length - begun.length);
  return { ...NONE, machines: machines.map((name) => head + name) };
}
