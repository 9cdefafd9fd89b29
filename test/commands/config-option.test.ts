import { Command } from 'commander';
import { expect, test } from 'vitest';
import { addDatabaseCommands } from '../../src/commands/db-program.ts';
import { addFleetCommands } from '../../src/commands/fleet-program.ts';
import { addMachineCommands } from '../../src/commands/machine-program.ts';
import { addProviderReading } from '../../src/commands/provider/program.ts';

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
const optionOf = (leaf: Command) => leaf.options.find(({ long }) => long === '--config');

test('every command that must have a configuration finds it in SHEPHERD_CONFIG', () => {
  const cli = new Command();
  addDatabaseCommands(cli);
  const leaves = leavesOf(cli);
  expect(leaves.length).toBeGreaterThan(3);
  for (const leaf of leaves) {
    expect(optionOf(leaf), leaf.name()).toMatchObject({
      ...{ envVar: 'SHEPHERD_CONFIG', mandatory: true },
    });
  }
});

test('every command that goes to the console can go past it, and says that this is for emergencies', () => {
  const cli = new Command();
  addFleetCommands(cli);
  addMachineCommands(cli);
  addProviderReading(cli, cli.command('provider'), '1');
  const leaves = leavesOf(cli).filter((leaf) => leaf.name() !== 'sweep');
  expect(leaves.length).toBeGreaterThan(18);
  for (const leaf of leaves) {
    expect(optionOf(leaf), leaf.name()).toMatchObject({
      ...{ mandatory: false, description: expect.stringMatching(/^EMERGENCY: past the console/) },
    });
    expect(leaf.options.map(({ long }) => long)).toEqual(
      expect.arrayContaining(['--url', '--context', '--output', '--json', '--color']),
    );
  }
});
