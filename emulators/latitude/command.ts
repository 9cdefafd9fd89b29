import { InvalidArgumentError, Option } from 'commander';
import type { EmulatorCommand } from '../kit/command.ts';
import { DEFAULT_PLANS } from './state/catalogue.ts';

const planSlugs = (text: string): string[] => {
  const plans = text.split(',').map((one) => one.trim());
  if (plans.every((plan) => /^[a-z0-9][a-z0-9-]*$/.test(plan))) return [...new Set(plans)];
  throw new InvalidArgumentError('Give slugs of plans with commas, such as c3-small-x86.');
};

export const latitude: EmulatorCommand = {
  name: 'latitude',
  description: 'the API of Latitude.sh',
  addOptions: (command) =>
    command.addOption(
      new Option('--plans <slugs>', 'plans that there are')
        .argParser(planSlugs)
        .default(DEFAULT_PLANS, DEFAULT_PLANS.join()),
    ),
  async start(common, own) {
    const { plans } = own as { plans: readonly string[] };
    const { startLatitudeEmulator } = await import('./emulator.ts');
    const fake = await startLatitudeEmulator({ ...common, plans });
    const { url, token, otherToken, project, adminUrl, adminToken } = fake;
    const [{ projects } = { projects: [] }] = fake.teams();
    const reservedProject = projects.find((one) => one.provisioningType === 'reserved')?.id;
    return {
      line: { url, token, project, reservedProject, otherToken, adminUrl, adminToken },
      close: fake.close,
    };
  },
};
