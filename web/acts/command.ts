import {
  detailsOf,
  isVerb,
  VERBS,
  type Detail,
  type DrainMode,
  type InstallImage,
} from '../../src/domain/verbs.ts';
import { isDestroying, type GivenRequest } from '../../src/domain/operator-request.ts';

/** A request in the form of the API. */
export interface Ask {
  readonly verb: string;
  readonly reason: string;
  readonly slots?: readonly string[];
  readonly expectCount?: number;
  readonly [detail: string]: unknown;
}

/** Characters that no POSIX shell interprets. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** A command line for a POSIX shell. */
export const commandLine = (words: readonly string[]): string =>
  ['shepherd', ...words]
    .map((word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');

/** The words after `shepherd` that file the same request. Null: no command can. */
export function commandOf(ask: Ask): readonly string[] | null {
  const { verb } = ask;
  if (!isVerb(verb)) return null;
  const subject = subjectOf(ask);
  if (subject === null) return null;
  const options: string[] = [...subject.options];
  const texts: string[] = [];
  for (const [name, detail] of detailsOf(verb)) {
    if (subject.taken.includes(name)) continue;
    if (detail.kind === 'text') texts.push(String(ask[name]));
    else options.push(...optionsOf(name, detail, ask[name]));
  }
  if (isDestroying(ask as unknown as GivenRequest)) options.push('--yes');
  const last = [...subject.names, ...texts];
  return [
    ...subject.command,
    ...options,
    ...['--reason', ask.reason],
    ...(last.some((word) => word.startsWith('-')) ? ['--'] : []),
    ...last,
  ];
}

interface Subject {
  readonly command: readonly string[];
  readonly options: readonly string[];
  readonly names: readonly string[];
  /** Details that the command or its options contain already. */
  readonly taken: readonly string[];
}

const option = (name: string, value: unknown): string[] =>
  value === undefined || value === null ? [] : [`--${name}`, String(value)];

/** What the request is about, as each group of commands names it. */
function subjectOf(ask: Ask): Subject | null {
  const { verb, slots = [], expectCount } = ask;
  switch (VERBS[verb as keyof typeof VERBS].of) {
    case 'machine':
    case 'slot': {
      const command = ['machine', verb];
      if (slots.length === 1) return { command, options: [], names: slots, taken: [] };
      // Names that the option cannot carry.
      if (slots.some((name) => name.includes(',') || name.trim() !== name)) return null;
      const options = ['--slots', slots.join(','), ...option('expect-count', expectCount)];
      return { command, options, names: [], taken: [] };
    }
    case 'scope': {
      const { scope, untilMs } = ask;
      const provider = scope === 'fleet' ? [] : option('provider', scope);
      const options = [...provider, ...option('for', untilMs && instant(untilMs as number))];
      const command = ['fleet', verb.replace(/-until$/, '')];
      return { command, options, names: [], taken: ['untilMs'] };
    }
    case 'provider': {
      const { provider, hold, shelf = [] } = ask;
      const names = [String(provider), ...(shelf as readonly string[])];
      const options = option('hold', hold);
      return { command: ['provider', 'clear'], options, names, taken: ['hold', 'shelf'] };
    }
    case 'pool': {
      const options = option('balancer', ask['balancer']);
      const command = ['lb', verb.replace(/-pool$/, '')];
      return { command, options, names: [String(ask['pool'])], taken: ['pool', 'balancer'] };
    }
  }
}

const instant = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z');

/** The options of a detail with this value, as `commands/verb-options.ts` reads them. */
function optionsOf(name: string, { kind }: Detail, value: unknown): readonly string[] {
  if (value === undefined || value === null || value === false) return [];
  const long = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  switch (kind) {
    case 'flag':
      return [`--${long}`];
    case 'drain':
      return [(value as DrainMode) === 'skip' ? '--no-drain' : '--force-drain'];
    case 'start':
      return option('from', instant(value as number));
    case 'end':
      return option('until', instant(value as number));
    case 'image': {
      const { url, sha256, compression, rootDevice } = value as InstallImage;
      const [[by, disk] = []] = Object.entries(rootDevice);
      return [
        ...[...option('image-url', url), ...option('sha256', sha256)],
        ...[...option('root-device', `${by}=${disk}`), ...option('compression', compression)],
      ];
    }
    default:
      return option(long, value);
  }
}

const HOUR_MS = 3_600_000;

/** The words after `shepherd` that make the same token. */
export const tokenCommand = ({
  name,
  role,
  providers,
  forMs,
}: {
  readonly name: string;
  readonly role: string;
  readonly providers: readonly string[] | null;
  readonly forMs: number;
}): readonly string[] => [
  ...['token', 'create', name, '--role', role, '--for', `${forMs / HOUR_MS}h`],
  ...(providers ?? []).flatMap((provider) => ['--provider', provider]),
];
