import { expect, test } from 'vitest';
import { leadsElsewhere } from '../../../../src/adapters/provider/redfish/changes.ts';

const STAYS = ['None', 'Hdd', 'BiosSetup'];
const TARGETS = {
  /** The values of BootSource in the schema of ComputerSystem. */
  'the standard':
    'None Pxe Floppy Cd Usb Hdd BiosSetup Utilities Diags UefiShell UefiTarget SDCard UefiHttp RemoteDrive UefiBootNext Recovery',
  /** As the BMC of an X10 lists them. */
  Supermicro:
    'None Pxe Hdd Diags CD/DVD BiosSetup FloppyRemovableMedia UsbKey UsbHdd UsbFloppy UsbCd UefiUsbKey UefiCd UefiHdd UefiUsbHdd UefiUsbCd',
};

test.each(Object.entries(TARGETS))(
  'D5: every target of %s leads elsewhere, but none, the disk and BIOS setup',
  (_whose, told) => {
    const targets = told.split(' ');
    const boot = { mode: null, httpBootUri: null, targets };
    const elsewhere = (enabled: string) =>
      targets.filter((target) => leadsElsewhere({ ...boot, enabled, target }));
    for (const enabled of ['Once', 'Continuous']) {
      expect(elsewhere(enabled)).toEqual(targets.filter((target) => !STAYS.includes(target)));
    }
    expect(elsewhere('Disabled')).toEqual([]);
  },
);
