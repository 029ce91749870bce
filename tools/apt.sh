# SPDX-License-Identifier: Apache-2.0
# apt.sh: for scripts that take packages from this machine's mirror and unpack them instead of installing
# them: apt with lists, state and archives of its own. Nothing of the machine's own apt changes.

# Prints the mirror and the release that this machine itself uses.
apt_mirror()
{
        # shellcheck source=/dev/null
        apt_codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
        # shellcheck disable=SC2016  # apt's own names
        apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
                awk -v release="$apt_codename" '$2 == release && $3 == "main" { print $1, $2; exit }'
}

# apt_setup FOLDER [OPTION]...: asks the mirror for its lists, as FOLDER/sources.list names them; sets
# APT_CONFIG. OPTION is a line of apt.conf. What apt says is in FOLDER/log.
apt_setup()
{
        apt_folder=$1
        shift
        mkdir -p "$apt_folder/lists/partial" "$apt_folder/archives/partial"
        printf '%s;\n' >"$apt_folder/apt.conf" \
                "Dir::Etc::sourcelist \"$apt_folder/sources.list\"" \
                'Dir::Etc::sourceparts "-"' \
                "Dir::State \"$apt_folder\"" \
                'Dir::State::status "/dev/null"' \
                "Dir::Cache \"$apt_folder\"" \
                'Acquire::Languages "none"' \
                'Acquire::Retries "3"' \
                'APT::Sandbox::User "root"' \
                ${1+"$@"}
        export APT_CONFIG="$apt_folder/apt.conf"
        apt-get -qq update >"$apt_folder/log" 2>&1 && ! grep -q '^[EW]:.*Failed' "$apt_folder/log"
}

# The start of a line of sources.list: what signs the packages, if the machine says so.
apt_source()
{
        for apt_keyring in /usr/share/keyrings/debian-archive-keyring.gpg \
                /usr/share/keyrings/ubuntu-archive-keyring.gpg; do
                [ ! -e "$apt_keyring" ] || { echo "deb [signed-by=$apt_keyring]" && return; }
        done
        echo deb
}
