import type { Command } from 'commander';
import { configured } from './options.ts';
import { acting, byFlags, remote, type Through } from './remote/flags.ts';

interface Common {
  readonly config: string;
  readonly url?: string;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const THROW_AWAY_HELP = `
Deletes all data. The BMDB is the only record of which devices are ours, so this is refused unless
  - --throw-away is given, and the name of the database;
  - no daemon is alive on it;
  - it records no machine and no unsettled creation, or its owner has marked it before:
      COMMENT ON DATABASE "name" IS 'throw-away'`;

/** Adds `db`: what looks after a database given by `database.url`, and what a console tells of it. */
export function addDatabaseCommands(cli: Command, through: Through = byFlags): void {
  const db = cli.command('db').description('look after the database that the configuration names');
  const command = (usage: string, description: string) =>
    configured(db.command(usage))
      .description(description)
      .option('--url <url>', 'instead of database.url, in the same form: for another role');

  command('migrate', 'bring the schema up to date; needs a role that may create tables')
    .option('--grant-to <role>', 'give this role the rights that a daemon needs, and no more')
    .action(async ({ config, ...rest }: Common & { grantTo?: string }) => {
      const { migrateDatabase } = await import('./database.ts');
      say(await migrateDatabase({ file: config, ...rest }));
    });

  command('status', 'whether a daemon can work with it; exit code 1 when something must be done')
    .option('--json', 'print one line of JSON', false)
    .action(async ({ config, json, ...rest }: Common & { json: boolean }) => {
      const { databaseStatus } = await import('./database.ts');
      const { locally } = await import('./remote/session.ts');
      await locally({ json }, () => databaseStatus({ file: config, ...rest }));
    });

  const act = acting(through);
  const records = () => import('./remote/records.ts');
  remote(db.command('show [machine]'))
    .description('what is recorded of a machine, or a line for each; for debugging, and for admins')
    .option('--expired-backoffs', 'waits that are over, too', false)
    .option('--field <path>', 'print only this value, such as report.cpu[0].cores')
    .action(act(async () => (await records()).showRecords));
  remote(db.command('hardware'))
    .description('what agents found in the machines that are provided')
    .action(act(async () => (await records()).showHardware));
  remote(db.command('stats'))
    .description('how many machines are in which condition, in all and by provider')
    .action(act(async () => (await records()).showStatistics));

  command('down <name>', 'undo all migrations of a throw-away database')
    .option('--throw-away', 'yes, all data is to be deleted', false)
    .addHelpText('after', THROW_AWAY_HELP)
    .action(async (name: string, { config, ...rest }: Common & { throwAway: boolean }) => {
      const { throwAwayDatabase } = await import('./database.ts');
      say(await throwAwayDatabase({ file: config, name, ...rest }));
    });
}
