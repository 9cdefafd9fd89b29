import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addConsoleCommands } from '../../src/commands/console-program.ts';
import { addDatabaseCommands } from '../../src/commands/db-program.ts';
import { addFleetCommands } from '../../src/commands/fleet-program.ts';
import { addBalancerCommands } from '../../src/commands/lb/program.ts';
import { addMachineCommands } from '../../src/commands/machine-program.ts';
import { addProviderCommands } from '../../src/commands/provider-program.ts';

const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

test('only commands that cannot go to a console take a configuration, which some find in SHEPHERD_CONFIG', () => {
  const cli = new Command();
  addConsoleCommands(cli);
  addDatabaseCommands(cli);
  addFleetCommands(cli);
  addMachineCommands(cli);
  addBalancerCommands(cli, '1');
  addProviderCommands(cli, '1');
  const leaves = leavesOf(cli);
  const configured = leaves.flatMap((leaf) => {
    const option = leaf.options.find(({ long }) => long === '--config');
    return option ? [[pathOf(leaf), option.mandatory, option.envVar ?? null]] : [];
  });
  expect(configured).toEqual([
    ['token create', false, null],
    ['ui', false, null],
    ...['db migrate', 'db status', 'db down', 'lb forget'].map((name) => [
      ...[name, true, 'SHEPHERD_CONFIG'],
    ]),
    ['lb test', true, null],
    ['provider test', true, null],
    ['provider sweep', true, 'SHEPHERD_CONFIG'],
  ]);
  const toConsole = leaves.filter((leaf) => leaf.options.some(({ long }) => long === '--url'));
  expect(toConsole.length).toBeGreaterThan(40);
  for (const leaf of toConsole.filter((each) => !/^db (migrate|status|down)$/.test(pathOf(each)))) {
    expect(
      leaf.options.map(({ long }) => long),
      pathOf(leaf),
    ).toEqual(expect.arrayContaining(['--url', '--context', '--output', '--json', '--color']));
  }
});
