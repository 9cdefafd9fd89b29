import type { Command } from 'commander';
import { configured } from './options.ts';
import { examples } from './help.ts';
import { acting, byFlags, jsonOption, remote, type Through } from './remote/flags.ts';

interface Common {
  readonly config: string;
  readonly url?: string;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const THROW_AWAY_HELP = `
Deletes all data. The database is the only record of Shepherd's devices, so the command refuses unless
  - you give --throw-away and the name of the database;
  - no daemon uses it;
  - it records no machine and no unfinished creation, or its owner marked it before with
      COMMENT ON DATABASE "name" IS 'throw-away'`;

const CONFIG = '--config /etc/shepherd/shepherd.yaml';

/** Adds `db`: commands that maintain the database, and commands that show what is recorded in it. */
export function addDatabaseCommands(cli: Command, through: Through = byFlags): void {
  const db = cli.command('db').description('Maintain the database, and look at its records');
  const command = (name: string, description: string) =>
    configured(db.command(name))
      .description(description)
      .option('--url <url>', 'Use this URL instead of database.url, for another database role');

  const migrating = command(
    'migrate',
    'Migrate the schema to this version. Needs a database role that may create tables',
  )
    .option('--grant-to <role>', 'Grant the rights of a daemon, and no more, to this database role')
    .action(async ({ config, ...rest }: Common & { grantTo?: string }) => {
      const { migrateDatabase } = await import('./database.ts');
      say(await migrateDatabase({ file: config, ...rest }));
    });
  examples(
    migrating,
    `shepherd db migrate ${CONFIG}`,
    `shepherd db migrate ${CONFIG} --url postgresql://owner@db/fleet --grant-to shepherd`,
  );

  const status = command(
    'status',
    'Check whether a daemon can work with the database. Exit status 1: something must be done first',
  )
    .addOption(jsonOption())
    .action(async ({ config, json, ...rest }: Common & { json: boolean }) => {
      const { databaseStatus } = await import('./database.ts');
      const { locally } = await import('./remote/session.ts');
      await locally({ json }, () => databaseStatus({ file: config, ...rest }));
    });
  examples(status, `shepherd db status ${CONFIG}`);

  const act = acting(through);
  const records = () => import('./remote/records.ts');
  examples(
    remote(db.command('show'))
      .argument('[machine]', 'Name or machine ID. Default: one line for each machine')
      .description('Show the records of machines, for debugging. Only for admins')
      .option('--expired-backoffs', 'Also show backoffs that are over', false)
      .option('--field <path>', 'Print only this value, such as report.cpu[0].cores')
      .action(act(async () => (await records()).showRecords)),
    'shepherd db show',
    'shepherd db show rack/b4-07 --field "report.cpu[0].cores"',
  );
  examples(
    remote(db.command('hardware'))
      .description('Show the hardware that agents found in the machines')
      .action(act(async () => (await records()).showHardware)),
    'shepherd db hardware -o json',
  );
  examples(
    remote(db.command('stats'))
      .description('Count machines by condition, for the fleet and for each provider')
      .action(act(async () => (await records()).showStatistics)),
    'shepherd db stats',
  );

  const down = command('down', 'Undo all migrations of a throw-away database')
    .argument('<name>', 'Name of the database, to confirm')
    .option('--throw-away', 'Confirm that all data is deleted', false)
    .action(async (name: string, { config, ...rest }: Common & { throwAway: boolean }) => {
      const { throwAwayDatabase } = await import('./database.ts');
      say(await throwAwayDatabase({ file: config, name, ...rest }));
    });
  examples(down, 'shepherd db down scratch --config scratch.yaml --throw-away').addHelpText(
    'after',
    THROW_AWAY_HELP,
  );
}
