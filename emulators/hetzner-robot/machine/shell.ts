import { createHash } from 'node:crypto';
import {
  Bash,
  type CommandName,
  type CommandNode,
  defineCommand,
  type ExecResult,
  type InMemoryFs,
  parse,
  type PipelineNode,
  type ResolvedCommandContext,
  serialize,
  type SimpleCommandNode,
  type StatementNode,
  type WordNode,
} from 'just-bash';
import { parse as wordsOf, quote } from 'shell-quote';

/** An additional program of a machine. */
export type Program = (
  args: string[],
  context: ResolvedCommandContext,
) => Promise<ExecResult> | ExecResult;

/** The machine under a shell. */
export interface ShellHost {
  readonly files: InMemoryFs;
  readonly programs: Readonly<Record<string, Program>>;
  /** Aborts on power loss or reboot: everything ends. */
  readonly signal: AbortSignal;
  /** Rejects when the machine ends. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Continues after its caller. */
  background(work: Promise<unknown>): void;
}

/** Runs a command line as a login shell does. Output is text, never bytes. */
export type Shell = (line: string, stdin?: string) => Promise<ExecResult>;

/** Programs of a rescue system for scripts, apart from those for hardware. */
const COMMANDS = (
  'base64 basename bash cat chmod cp cut date dirname echo env expr false find grep head ln ls md5sum mkdir ' +
  'mv printf pwd readlink rm sed seq sh sleep sort stat tail tee touch tr true uniq wc whoami xargs'
).split(' ') as CommandName[];

/** A program's output and exit code. */
export const said = (stdout = '', exitCode = 0, stderr = ''): ExecResult => ({
  ...{ stdout, stderr, exitCode },
});

/** Programs and shell words that just-bash lacks: nothing here depends on their effects. */
const IGNORED = ['mount', 'swapoff', 'sync', 'trap', 'umask', 'umount'];
const IN_BACKGROUND = 'in-background';

/** A shell on in-memory files: no script reaches this computer. */
export function createShell(host: ShellHost): Shell {
  const ignored = IGNORED.map((name) => [name, () => said()] as const);
  const programs: Readonly<Record<string, Program>> = {
    ...Object.fromEntries(ignored),
    sha256sum,
    ...host.programs,
    async [IN_BACKGROUND]([log = '', program = '', ...args], { fs, env, cwd }) {
      const [first = ''] = args;
      const isShell = program === 'sh';
      const script = !isShell
        ? quote([program, ...args])
        : first === '-c'
          ? (args[1] ?? '')
          : await fs.readFile(fs.resolvePath(cwd, first));
      await fs.writeFile(log, '');
      host.background(run(loggedTo(log, script), { env: Object.fromEntries(env), cwd }));
      return said();
    },
  };
  let bash: Bash | undefined;
  const run = (script: string, options: Parameters<Bash['exec']>[1]) => {
    bash ??= createBash(host, programs);
    return bash.exec(script, { ...options, rawScript: true, signal: host.signal });
  };

  return async (line, stdin = '') => {
    const isScript = wordsOf(line).join(' ') === 'sh -s';
    const ended = await (isScript ? run(stdin, {}) : run(line, { stdin }));
    host.signal.throwIfAborted();
    return ended;
  };
}

/** Hashes its input only. just-bash's version runs unseen by a manual clock. */
function sha256sum(_args: string[], { stdin }: ResolvedCommandContext): ExecResult {
  return said(`${createHash('sha256').update(String(stdin)).digest('hex')}  -\n`);
}

function createBash(
  { files, sleep }: ShellHost,
  programs: Readonly<Record<string, Program>>,
): Bash {
  const bash = new Bash({
    fs: files,
    cwd: '/root',
    env: { HOME: '/root', USER: 'root' },
    commands: COMMANDS,
    customCommands: Object.entries(programs).map(([name, program]) =>
      defineCommand(name, async (args, context) => program(args, context)),
    ),
    sleep,
    // Its second line of defence removes timers and more from the whole process while a script
    // runs.
    defenseInDepth: false,
  });
  bash.registerTransformPlugin({
    name: IN_BACKGROUND,
    transform({ ast }) {
      detachIn(ast);
      return { ast };
    },
  });
  return bash;
}

/** just-bash waits for a script's background commands; here they continue by themselves. */
function detachIn(node: unknown): void {
  if (typeof node !== 'object' || node === null) return;
  if ('background' in node && node.background === true) detach(node as StatementNode);
  else Object.values(node).forEach(detachIn);
}

/** `sh FILE > LOG &` becomes `in-background LOG sh FILE`, whatever other redirections exist. */
function detach(statement: StatementNode): void {
  const inside = statement.pipelines.flatMap(({ commands }) => commands);
  const [command] = inside.length === 1 ? inside : [];
  const isSimple = command?.type === 'SimpleCommand' && command.name !== null;
  const text = serialize({ type: 'Script', statements: [{ ...statement, background: false }] });
  const words = isSimple
    ? [command.name!, ...command.args]
    : [wordOf('sh'), wordOf('-c'), wordOf(text, 'SingleQuoted')];
  const isNohup = JSON.stringify(words[0]) === JSON.stringify(wordOf('nohup'));
  const log = isSimple ? outputOf(command) : undefined;
  const name = wordOf(IN_BACKGROUND);
  const args = [log ?? wordOf('/dev/null'), ...words.slice(isNohup ? 1 : 0)];
  const replaced: CommandNode = { ...EMPTY, name, args };
  const pipeline: PipelineNode = { type: 'Pipeline', commands: [replaced], negated: false };
  Object.assign(statement, { pipelines: [pipeline], operators: [], background: false });
}

const EMPTY = { type: 'SimpleCommand' as const, assignments: [], redirections: [] };
const wordOf = (value: string, type: 'Literal' | 'SingleQuoted' = 'Literal'): WordNode => ({
  type: 'Word',
  parts: [{ type, value }],
});
const outputOf = ({ redirections }: SimpleCommandNode): WordNode | undefined =>
  redirections
    .filter(({ operator, fd }) => operator === '>' && (fd ?? 1) === 1)
    .flatMap(({ target }) => (target.type === 'Word' ? [target] : []))
    .at(-1);

/**
 * just-bash writes a command's output to a file at the command's end. To make a growing log
 * readable, each command of the script writes its own output.
 */
const loggedTo = (log: string, script: string): string =>
  parse(script)
    .statements.map((one) => serialize({ type: 'Script', statements: [one] }))
    .map((text) => `{ ${text}\n} >> ${quote([log])} 2>&1\n`)
    .join('');
