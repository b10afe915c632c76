# bash completion for perf_event_exporter(8)
_perf_event_exporter() {
  local current=$2 option=$3 word command= offset=1
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      list | cgroups | size | doctor | reset | health | stat) command=$word ;;
      --) # a command with options of its own follows
        if type -t _command_offset >/dev/null; then
          _command_offset "$((offset + 1))"
        else
          compopt -o bashdefault -o default
        fi
        return
        ;;
    esac
    ((++offset))
  done

  local words=
  case $option in
    --config.file | --machine | --web.config.file)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --path.cgroupfs | --path.procfs | --path.sysfs)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return
      ;;
    --web.listen-address | --web.health-address | --web.max-queued-scrapes | --web.telemetry-path | -e | --event | \
      --cpus | --cgroups) return ;;
    -p | --pid)
      words=$(cd /proc && printf '%s ' [0-9]*)
      ;;
    --config.unknown) words='error warn' ;;
    --web.require) words='tls users client-certificate' ;;
    --log.level) words='debug info warn error' ;;
    --log.format) words='logfmt json' ;;
    --output) words='text json' ;;
    *)
      if [[ $current == -* ]]; then
        words='-h --help --version --config.file --config.watch --config.check --machine --config.check-start --config.unknown
          --once
          --web.listen-address --web.health-address --web.systemd-socket --web.config.file --web.require
          --web.max-queued-scrapes --web.enable-lifecycle --web.ready-needs-events --web.telemetry-path --path.sysfs --path.procfs --path.cgroupfs
          --log.level --log.format'
        case $command in
          list) words+=' --all --output' ;;
          doctor) words+=' --output' ;;
          stat) words+=' -e --event -p --pid --output' ;;
          cgroups) words+=' --all --labels' ;;
          size) words+=' --cpus --cgroups' ;;
          health) words+=' --ready' ;;
        esac
      elif [[ $command == cgroups ]]; then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        return
      elif [[ -z $command ]]; then
        words='list cgroups size doctor reset health stat'
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _perf_event_exporter perf_event_exporter
