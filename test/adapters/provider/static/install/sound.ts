/** What a machine tells that can be installed from its own system. */
export const SOUND = {
  ...{ hostname: 'web-1', user: '0', machine: 'x86_64', kexec: '/sbin/kexec' },
  ...{ disabled: '0', lockdown: '[none] integrity confidentiality', memory: '900000' },
  ...{ disk: 'sda', disks: 'sda s1 ;', card: 'eth0', mac: '02:00:00:00:00:01' },
  ...{
    address: '192.0.2.7/24',
    gateway: '192.0.2.1',
    dns: '192.0.2.53',
    image: 'yes',
    seed: 'yes',
  },
};
