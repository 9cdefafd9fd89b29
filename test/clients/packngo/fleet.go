// Uses the API the way a program of the service's customers does, and prints what it saw as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/packethost/packngo"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Waits until the device has the state; answers it as it then is.
func until(c *packngo.Client, id string, state string) *packngo.Device {
	for i := 0; i < 2000; i++ {
		d, _, err := c.Devices.Get(id, &packngo.GetOptions{Includes: []string{"hardware_reservation", "ssh_keys", "project"}})
		must(err)
		if d.State == state {
			return d
		}
		time.Sleep(5 * time.Millisecond)
	}
	must(fmt.Errorf("device %s never became %s", id, state))
	return nil
}

func main() {
	url, project := os.Args[1], os.Args[2]
	c, err := packngo.NewClientWithBaseURL("shepherd", os.Getenv("EQUINIX_TOKEN"), nil, url)
	must(err)
	seen := map[string]interface{}{}

	// Thirteen devices and as many reservations: more than a page of each.
	reservations, _, err := c.HardwareReservations.List(project, &packngo.ListOptions{PerPage: 100, Includes: []string{"facility", "project", "device"}})
	must(err)
	seen["reservations"] = len(reservations)
	ids := []string{}
	for i, one := range reservations {
		d, _, err := c.Devices.Create(&packngo.DeviceCreateRequest{
			ProjectID: project, Hostname: fmt.Sprintf("packngo-%02d", i), Plan: one.Plan.Slug,
			Facility: []string{one.Facility.Code}, OS: "ubuntu_22_04", BillingCycle: "hourly",
			HardwareReservationID: one.ID, CustomData: `{"made":"by packngo"}`, Tags: []string{"packngo"},
		})
		must(err)
		ids = append(ids, d.ID)
	}
	devices, _, err := c.Devices.List(project, nil)
	must(err)
	seen["devices"] = len(devices)
	d := until(c, ids[0], "active")
	seen["customdata"] = d.CustomData
	seen["plan"] = d.Plan.Slug
	seen["facility"] = d.Facility.Code
	seen["address"] = d.GetNetworkInfo().PublicIPv4
	seen["networkType"] = d.NetworkType
	seen["steps"] = len(d.ProvisionEvents)

	reservation, _, err := c.HardwareReservations.Get(reservations[0].ID, &packngo.GetOptions{Includes: []string{"device", "facility", "project"}})
	must(err)
	seen["reserved"] = reservation.Device.Hostname

	_, err = c.Devices.PowerOff(ids[0])
	must(err)
	until(c, ids[0], "inactive")
	_, err = c.Devices.PowerOn(ids[0])
	must(err)
	until(c, ids[0], "active")
	_, err = c.Devices.Reboot(ids[0])
	must(err)
	_, err = c.Devices.Lock(ids[0])
	must(err)
	_, err = c.Devices.Delete(ids[0])
	seen["locked"] = fmt.Sprint(err != nil)
	_, err = c.Devices.Unlock(ids[0])
	must(err)
	events, _, err := c.Devices.ListEvents(ids[0], nil)
	must(err)
	types := map[string]bool{}
	for _, e := range events {
		types[e.Type] = true
	}
	seen["events"] = types

	for _, id := range ids {
		until(c, id, "active")
		_, err = c.Devices.Delete(id)
		must(err)
	}
	for _, id := range ids {
		for i := 0; ; i++ {
			_, r, err := c.Devices.Get(id, nil)
			if err != nil && r != nil && r.StatusCode == 404 {
				break
			}
			must(err)
			if i == 2000 {
				must(fmt.Errorf("device %s is still there", id))
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	devices, _, err = c.Devices.List(project, nil)
	must(err)
	seen["left"] = len(devices)
	must(json.NewEncoder(os.Stdout).Encode(seen))
}
