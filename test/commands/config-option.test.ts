import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addDatabaseCommands } from '../../src/commands/db-program.ts';
import { addFleetCommands } from '../../src/commands/fleet-program.ts';
import { addMachineCommands } from '../../src/commands/machine-program.ts';
import { addProviderReading } from '../../src/commands/provider/program.ts';

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

test('every command that must have a configuration finds it in SHEPHERD_CONFIG', () => {
  const cli = new Command();
  addDatabaseCommands(cli);
  addFleetCommands(cli);
  addMachineCommands(cli);
  addProviderReading(cli, cli.command('provider'), '1');
  const leaves = leavesOf(cli);
  expect(leaves.length).toBeGreaterThan(20);
  for (const leaf of leaves) {
    const option = leaf.options.find(({ long }) => long === '--config');
    expect(option, leaf.name()).toMatchObject({ envVar: 'SHEPHERD_CONFIG', mandatory: true });
  }
});
