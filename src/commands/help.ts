import type { EventEmitter } from 'node:events';
import { Help, type Command, type HelpConfiguration, type Option } from 'commander';
import { outputWidth } from './layout.ts';

/** How the help texts of all commands are laid out. `scripts/command-document.ts` reads them, too. */

/** Options that choose machines, instead of the name of one machine. */
export const CHOOSING = 'Options that choose several machines:';
/** Options of each command that sends a request to the daemons. */
export const REQUEST = 'Options of the request:';
/** Options that many commands share: which console is asked, and how the answer is written. */
export const GENERAL = 'General options:';
/** A help text lists these groups last, in this order. */
const LAST: readonly string[] = [CHOOSING, REQUEST, GENERAL];

/** Adds options under a heading of the help text. */
export function inGroup(
  heading: string,
  command: Command,
  add: (command: Command) => void,
): Command {
  command.optionsGroup(heading);
  add(command);
  return command.optionsGroup('');
}

/** The options of the command itself come first. A switch that is off by default says nothing of that. */
const layout: HelpConfiguration = {
  groupItems(_, visible, groupOf) {
    const rank = ([name]: readonly [string, unknown]) => LAST.indexOf(name);
    const groups = [...Map.groupBy(visible, groupOf)];
    return new Map(groups.toSorted((one, other) => rank(one) - rank(other)));
  },
  optionDescription(option) {
    const shown = Object.create(option, {
      ...(typeof option.defaultValue === 'boolean' && { defaultValue: { value: undefined } }),
    }) as Option;
    return Help.prototype.optionDescription.call(this, shown);
  },
};

/** Lays out the help texts of a program and of all commands that are added to it afterwards. */
export const layOutHelp = (program: Command): Command =>
  program
    .configureHelp(layout)
    .addHelpOption(program.createOption('-h, --help', 'Show this help').helpGroup(GENERAL))
    .configureOutput({
      getOutHelpWidth: () => outputWidth(process.stdout),
      getErrHelpWidth: () => outputWidth(process.stderr),
    });

const TITLE = '\nExamples:\n';

/** Adds command lines to the help text of a command. A line that begins with "#" explains the next one. */
export const examples = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText('after', TITLE + lines.map((line) => `  ${line}`).join('\n'));

/** What stands below the options in the help text of a command. */
export interface HelpTail {
  readonly notes: string;
  readonly examples: readonly string[];
}

export function helpTailOf(command: Command): HelpTail {
  const parts: string[] = [];
  // A command is an emitter of events, which its types do not say.
  (command as unknown as EventEmitter).emit('afterHelp', {
    error: false,
    command,
    write: (part: string) => parts.push(part),
  });
  const [shown, others] = [true, false].map((is) =>
    parts.filter((part) => part.startsWith(TITLE) === is).map((part) => part.trim()),
  ) as [string[], string[]];
  return {
    notes: others.join('\n\n'),
    examples: shown.flatMap((part) => part.split('\n').slice(1)).map((line) => line.trim()),
  };
}
