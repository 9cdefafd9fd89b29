import { Option, type Command } from 'commander';

/** Which configuration a command reads: `--config`, or `SHEPHERD_CONFIG`. */
export const configured = (command: Command): Command =>
  command.addOption(
    new Option('--config <file>', 'configuration, YAML')
      .env('SHEPHERD_CONFIG')
      .makeOptionMandatory(),
  );
