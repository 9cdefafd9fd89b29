import type { Program } from '../shell/process.ts';

/** How software on a machine ends it. */
export function powerPrograms(power: {
  reboot(): void;
  powerOff(): void;
}): Readonly<Record<string, Program>> {
  const reboot: Program = () => {
    power.reboot();
    return 0;
  };
  const off: Program = () => {
    power.powerOff();
    return 0;
  };
  const systemctl: Program = ({ args, host }) => {
    const [verb = '', unit = ''] = args.filter((arg) => !arg.startsWith('-'));
    if (verb === 'reboot') power.reboot();
    if (verb === 'poweroff') power.powerOff();
    const link = `/etc/systemd/system/multi-user.target.wants/${unit}`;
    if (verb === 'enable') {
      host.files.makeDirectory('/etc/systemd/system/multi-user.target.wants');
      host.files.put(link, { kind: 'link', target: `/etc/systemd/system/${unit}` });
    }
    if (verb === 'disable') host.files.remove(link);
    return 0;
  };
  return {
    reboot,
    poweroff: off,
    halt: off,
    shutdown: (process, run) =>
      process.args.includes('-r') ? reboot(process, run) : off(process, run),
    systemctl,
  };
}
